// Copied pasts: which events of an execution a fork or a rewind copied, and which execution owns the keys of its calls.

import type {
  HistoryEvent,
  OrchestrationStarted,
  RedoneCall,
} from "../../../core/history/events.ts";

/** The number of copied events; 0: the execution began without a copy. */
export function copiedUntil([started]: readonly HistoryEvent[], execution: number): number {
  if (started?.kind !== "OrchestrationStarted") return 0;
  const last = started.repairs?.at(-1);
  // An execution that continued as new lists its repairs too, but has no copied past.
  const isFork = last?.kind === "fork" && execution === 1;
  return started.rewound !== undefined || isFork ? (last?.before ?? 1) - 1 : 0;
}

/** Whether a rewind led to the execution. */
export function wasRewound([started]: readonly HistoryEvent[]): boolean {
  if (started?.kind !== "OrchestrationStarted") return false;
  return started.repairs?.some(({ kind }) => kind === "rewind") ?? false;
}

/** The idempotency key that a call must have, by the records of its execution. */
export function keyOf(
  started: OrchestrationStarted,
  execution: number,
  event: HistoryEvent,
): string {
  const { runId, rewound } = started;
  const owner = rewound?.keys.find(({ until }) => event.sequence <= until)?.execution ?? execution;
  const { redone } = rewound ?? {};
  const isRedone =
    owner === execution && redone?.sequence === event.sequence && isSame(redone.call, event);
  return `${runId}:${isRedone ? redone.execution : owner}:${event.sequence}`;
}

function isSame(call: RedoneCall["call"], event: HistoryEvent): boolean {
  if (event.kind !== call.kind || event.name !== call.name) return false;
  return event.kind !== "ActivityScheduled" || !("input" in call) || event.input === call.input;
}
