// Flows as runtimes tell them: the definition of each, written beside what a runtime registers, so that whoever looks
// at the store can draw what an instance runs.
//   TF1. It is shown and never relied on: nothing that runs work reads it.
//   TF2. A runtime tells at most TOLD_CHARS_MAX characters of definitions; a flow that does not fit is left out (I12).

import type { RuntimeRecord } from "./provider/runtimes.ts";

/** Rows of runtimes are read often; definitions are some kilobytes each. */
export const TOLD_CHARS_MAX = 131_072;

/** A flow by name and version, and its definition, which is plain JSON. */
export interface ToldFlow {
  readonly name: string;
  readonly version: string;
  readonly definition: object;
}

/** Those of the orchestrations that are flows, as far as there is room. */
export function toldFlows(
  orchestrations: Iterable<{ readonly name: string; readonly version: string }>,
): readonly ToldFlow[] {
  const told: ToldFlow[] = [];
  let room = TOLD_CHARS_MAX;
  for (const orchestration of orchestrations) {
    const { name, version } = orchestration;
    const definition = "definition" in orchestration ? orchestration.definition : null;
    if (typeof definition !== "object" || definition === null) continue;
    const { length } = JSON.stringify(definition);
    if (length > room) continue;
    room -= length;
    told.push({ name, version, definition });
  }
  return told;
}

/** The definition of that flow, if one of the runtimes tells it. */
export function toldDefinition(
  runtimes: readonly RuntimeRecord[],
  name: string,
  version: string,
): object | undefined {
  for (const { registered } of runtimes) {
    const found = readFlows(registered).find(
      (flow) => flow?.name === name && flow.version === version,
    );
    if (typeof found?.definition === "object" && found.definition !== null) return found.definition;
  }
  return undefined;
}

/** What another version of the library wrote may look otherwise. */
function readFlows(registered: string): readonly (Partial<ToldFlow> | null)[] {
  try {
    const { flows } = JSON.parse(registered) as { readonly flows?: unknown };
    return Array.isArray(flows) ? (flows as readonly (Partial<ToldFlow> | null)[]) : [];
  } catch {
    return [];
  }
}
