// What the state of a compacted flow says about the results of nodes that ended in earlier executions (semantics 26).
// The interpreter writes it; a client reads it when those executions were pruned.
//   CR1. Stored behaviour: members are added, never renamed.

import type { Codec } from "./codec.ts";
import type { HistoryEvent } from "./history-events.ts";

/** The result of a node outside of loops: itself, or the execution whose history has it. */
export type Carried = { readonly value: unknown } | { readonly execution: number };

/** A part of the state that a flow carries from one execution to the next. */
export interface CarriedResults {
  /** In the order in which the nodes ended. */
  readonly results: readonly (readonly [path: string, Carried])[];
}

/** The results that an execution began with; none where it is the first one, or does not run a flow. */
export function carriedResults(
  events: readonly HistoryEvent[],
  codec: Codec,
): CarriedResults["results"] {
  const [first] = events;
  if (first?.kind !== "OrchestrationStarted" || first.state === undefined) return [];
  return (codec.decode(first.state) as CarriedResults).results; // only interpreters of flows write a state
}
