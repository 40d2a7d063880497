// Published flows: each runtime stores the definitions of its flows with its registration, so that a
// dashboard on the store can draw the flow that an instance runs.
//   - The definitions are for display only. No code that runs work reads them.
//   - A runtime publishes at most PUBLISHED_CHARS_MAX characters of definitions and omits flows that do not
//       fit (I12).

import type { RuntimeRecord } from "../provider/runtimes.ts";

/** Clients read the rows of runtimes often, and a definition has some kilobytes. */
export const PUBLISHED_CHARS_MAX = 131_072;

/** A flow by name and version, and its definition, which is plain JSON. */
export interface PublishedFlow {
  readonly name: string;
  readonly version: string;
  readonly definition: object;
}

/** The definitions of those orchestrations that are flows, up to PUBLISHED_CHARS_MAX characters. */
export function publishedFlows(
  orchestrations: Iterable<{ readonly name: string; readonly version: string }>,
): readonly PublishedFlow[] {
  const published: PublishedFlow[] = [];
  let charsLeft = PUBLISHED_CHARS_MAX;
  for (const orchestration of orchestrations) {
    const { name, version } = orchestration;
    const definition = "definition" in orchestration ? orchestration.definition : null;
    if (typeof definition !== "object" || definition === null) continue;
    const { length } = JSON.stringify(definition);
    if (length > charsLeft) continue;
    charsLeft -= length;
    published.push({ name, version, definition });
  }
  return published;
}

/** The definition of that flow, if one of the runtimes published it. */
export function publishedDefinition(
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

/** Another version of the library may have written another shape. */
function readFlows(registered: string): readonly (Partial<PublishedFlow> | null)[] {
  try {
    const { flows } = JSON.parse(registered) as { readonly flows?: unknown };
    return Array.isArray(flows) ? (flows as readonly (Partial<PublishedFlow> | null)[]) : [];
  } catch {
    return [];
  }
}
