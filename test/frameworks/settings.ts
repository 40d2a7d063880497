// What the runner and the applications agree on.

/** The path of the API and the dashboard. */
export const PREFIX = "/ops/perdure";
