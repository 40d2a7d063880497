// Computes the state of each node of a flow from the spans that the node requested.
//   - Iterations of a loop and items of a map are summed under their node's path in the definition.
//   - The state of a node that contains others is the combined state of these nodes. Its counts are its own.
//   - The timeout of a wait is a timer of the same node. It does not affect the state of the node.

import { definitionPath } from "../../../../src/flow/data/paths.ts";
import type { Span } from "../../api/types.ts";

export type NodeState =
  "idle" | "running" | "waiting" | "completed" | "failed" | "cancelled" | "skipped";

export interface NodeRuns {
  readonly state: NodeState;
  /** The number of requested runs and of completed runs. */
  readonly runs: number;
  readonly completed: number;
  /** The highest number of attempts of one run. */
  readonly attempts: number;
}

/** The states by path in the definition. `isOver`: the execution has ended. */
export function nodeStates(
  paths: readonly string[],
  spans: readonly Span[],
  isOver: boolean,
): ReadonlyMap<string, NodeRuns> {
  const known = new Set(paths);
  const own = new Map<string, Span[]>();
  const held = new Map<string, Span[]>();
  for (const span of withoutTimeouts(spans)) {
    const path = ownerOf(definitionPath(span.node ?? ""), known);
    if (path === null) continue;
    put(own, path, span);
    for (const holder of holdersOf(path, known)) put(held, holder, span);
  }
  return new Map(
    paths.map((path) => {
      const runs = own.get(path) ?? [];
      return [
        path,
        {
          state: stateOf(runs, held.get(path) ?? [], isOver),
          runs: runs.length,
          completed: runs.filter(({ outcome }) => outcome === "completed").length,
          attempts: runs.reduce((most, { attempts = 1 }) => Math.max(most, attempts), 0),
        },
      ];
    }),
  );
}

function stateOf(own: readonly Span[], held: readonly Span[], isOver: boolean): NodeState {
  const open = [...own, ...held].filter(({ outcome }) => outcome === "open");
  if (open.length > 0) {
    return open.every(({ kind }) => kind === "timer" || kind === "event") ? "waiting" : "running";
  }
  const last = held.at(-1) ?? own.at(-1);
  if (last === undefined) return isOver ? "skipped" : "idle";
  const all = held.length > 0 ? held : [last];
  for (const outcome of ["failed", "completed"] as const) {
    if (all.some((span) => span.outcome === outcome)) return outcome;
  }
  return "cancelled";
}

function withoutTimeouts(spans: readonly Span[]): readonly Span[] {
  const waits = new Set(spans.filter(({ kind }) => kind === "event").map(({ node }) => node));
  return spans.filter(
    ({ kind, node }) => node !== undefined && !(kind === "timer" && waits.has(node)),
  );
}

/** The node that requested a span. A route's key, a map's items and a compensation have separate paths. */
export function ownerOf(path: string, known: ReadonlySet<string>): string | null {
  if (known.has(path)) return path;
  const owner = path.replace(/\.(key|items|defer)$/, "");
  return known.has(owner) ? owner : null;
}

/**
 * The paths of the nodes that contain a path: `fork` contains `fork.mail/send`, `refine` contains
 * `refine/step`.
 */
function holdersOf(path: string, known: ReadonlySet<string>): readonly string[] {
  const holders: string[] = [];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
    const outer = path.slice(0, at);
    const dot = outer.lastIndexOf(".");
    const branchOf = dot > outer.lastIndexOf("/") ? outer.slice(0, dot) : outer;
    holders.push(...[outer, branchOf].filter((each) => known.has(each)));
  }
  return [...new Set(holders)];
}

function put(map: Map<string, Span[]>, path: string, span: Span): void {
  const spans = map.get(path);
  if (spans === undefined) map.set(path, [span]);
  else spans.push(span);
}
