// The guards against nondeterminism, by name. Each guard can be switched on and off separately.

export const GUARD_NAMES = ["date", "random", "timers", "fetch", "io"] as const;
export type GuardName = (typeof GUARD_NAMES)[number];

/** True or false for all guards, or a switch per guard. A guard without a switch keeps its default. */
export type GuardOptions = boolean | { readonly [Name in GuardName]?: boolean };

/**
 * The guards that are on. By default Node's I/O modules are guarded during development only, because they are
 * many.
 */
export function guardsOf(options: GuardOptions, developing: boolean): ReadonlySet<GuardName> {
  if (options === false) return new Set();
  const switches: { readonly [Name in GuardName]?: boolean } = options === true ? {} : options;
  return new Set(GUARD_NAMES.filter((name) => switches[name] ?? (name !== "io" || developing)));
}
