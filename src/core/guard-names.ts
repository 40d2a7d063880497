// The guards against nondeterminism, by name: each has its own switch.

export const GUARD_NAMES = ["date", "random", "timers", "fetch", "io"] as const;
export type GuardName = (typeof GUARD_NAMES)[number];

/** True or false for all, or one by one; those not named keep their default. */
export type GuardOptions = boolean | { readonly [Name in GuardName]?: boolean };

/** Which guards are on. Node's I/O modules are guarded only while developing: the list is long. */
export function guardsOf(options: GuardOptions, developing: boolean): ReadonlySet<GuardName> {
  if (options === false) return new Set();
  const switches: { readonly [Name in GuardName]?: boolean } = options === true ? {} : options;
  return new Set(GUARD_NAMES.filter((name) => switches[name] ?? (name !== "io" || developing)));
}
