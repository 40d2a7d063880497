// Names of flows, short enough for a line. A flow's functions are activities named `flow@hash8/path`, and its version ends
// with the hash of its structure (semantics 23).

/** The path of the node alone; any other name as it is. */
export function withoutFlow(name: string): string {
  return name.replace(/^.+@[0-9a-f]{8}\//, "");
}

/** With the first eight digits of the hash. */
export function shortVersion(version: string): string {
  return version.replace(/(\+[0-9a-f]{8})[0-9a-f]{56}$/, "$1…");
}
