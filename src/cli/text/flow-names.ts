// Shortens names of flows. A function of a flow is an activity named `flow@hash8/path`, and the version of a
// flow ends with the hash of its structure (semantics 23).

/** The path of the node. A name that is not from a flow stays unchanged. */
export function withoutFlow(name: string): string {
  return name.replace(/^.+@[0-9a-f]{8}\//, "");
}

/** The version with only the first eight digits of the hash. */
export function shortVersion(version: string): string {
  return version.replace(/(\+[0-9a-f]{8})[0-9a-f]{56}$/, "$1…");
}
