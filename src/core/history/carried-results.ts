// Carried results: the results of a flow's nodes that ended in earlier executions (semantics 26).
//   - The interpreter of flows writes them into the state that the next execution starts with. A client reads
//       them if the earlier executions were pruned.
//   - carried-results.1: Histories contain this shape: members are added, never renamed.

import type { Codec } from "../values/codec.ts";
import type { HistoryEvent } from "./events.ts";

/** The result of a node outside of loops: the value, or the execution whose history contains it. */
export type Carried = { readonly value: unknown } | { readonly execution: number };

/** The part of a flow's state that holds results. A flow carries the state from one execution to the next. */
export interface CarriedResults {
  /** In the order in which the nodes ended. */
  readonly results: readonly (readonly [path: string, Carried])[];
}

/**
 * The results that an execution started with; empty for a first execution and for an orchestration without a
 * flow.
 */
export function carriedResults(
  events: readonly HistoryEvent[],
  codec: Codec,
): CarriedResults["results"] {
  const [first] = events;
  if (first?.kind !== "OrchestrationStarted" || first.state === undefined) return [];
  return (codec.decode(first.state) as CarriedResults).results; // only the interpreter of flows writes a state
}
