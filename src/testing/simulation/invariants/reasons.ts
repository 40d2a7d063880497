// Invariant 8: for every open call in the history of a live instance, the store holds the row that will end
// the call: a task, a message, a child or an ask. A wait for an event or for requests needs no row.

import type { Provider } from "../../../core/provider/provider.ts";
import type { HistoryEvent } from "../../../core/history/events.ts";
import { childInstanceId } from "../../../core/ids/ids.ts";
import { isTerminalStatus, type InstanceRecord } from "../../../core/provider/instances.ts";
import { askRequestId } from "../../../core/replay/outgoing-calls.ts";
import { openCalls, type OpenCall } from "./fold.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

export async function liveReasons(now: InstanceSnapshot, store: Provider): Promise<string[]> {
  const { record, events, inbox } = now;
  if (isTerminalStatus(record.status)) return [];
  if (events.length === 0) {
    return inbox.some(({ kind }) => kind === "start")
      ? []
      : ["it has neither a history nor a start message"];
  }
  const found: string[] = [];
  if (record.copiedUntil === record.lastEvent) {
    // The first turn after a copy makes the tasks and timers of the open calls.
    return inbox.some(({ kind }) => kind === "wake") ? [] : ["it was copied, but is not due"];
  }
  for (const call of openCalls(events)) {
    const missing = await missingFor(call, now, store);
    if (missing !== null)
      found.push(`call ${call.sequence} (${call.kind}) is open, but ${missing}`);
  }
  return found;
}

async function missingFor(
  call: OpenCall,
  { record, events, inbox, tasks }: InstanceSnapshot,
  store: Provider,
): Promise<string | null> {
  const { sequence } = call;
  const hasMessage = (...kinds: readonly string[]): boolean =>
    inbox.some((message) => message.sequence === sequence && kinds.includes(message.kind));
  switch (call.kind) {
    case "ActivityScheduled":
      if (tasks.some((task) => task.sequence === sequence) || hasMessage("activity")) return null;
      return "it has neither a task nor an outcome";
    case "TimerCreated":
      return hasMessage("timer") ? null : "it has no timer";
    case "StepScheduled":
      if (record.owner !== null || hasMessage("step", "stepRetry")) return null;
      return inbox.some(({ kind }) => kind === "wake") ? null : "no worker runs it";
    case "ChildScheduled": {
      // A child with onParentClose "abandon" stays open without an event when its parent is cancelled.
      if (hasMessage("child") || call.onParentClose === "abandon") return null;
      const child = await store.readInstance(childIdOf(call, record, events));
      if (child === null) return `its child ${call.id} does not exist`;
      return isTerminalStatus(child.status)
        ? `its child ended as ${child.status} without a message`
        : null;
    }
    case "AskSent": {
      if (hasMessage("answer")) return null;
      const { runId, execution } = record;
      const startedAt = events[0]?.at ?? 0;
      const requestId = askRequestId(sequence, { runId, execution, startedAt });
      const found = await store.readAsks(call.id, [requestId]);
      const state = found?.asks[0]?.state ?? "missing";
      return state === "open" ? null : `its ask of ${call.id} is ${state} and has no message`;
    }
  }
}

/** A child of a copied past was started again under another id, unless its outcome was kept. */
function childIdOf(
  { id, sequence }: Extract<OpenCall, { readonly kind: "ChildScheduled" }>,
  { id: parent, execution, copiedUntil }: InstanceRecord,
  [started]: readonly HistoryEvent[],
): string {
  const rewound = started?.kind === "OrchestrationStarted" ? started.rewound : undefined;
  if (sequence > copiedUntil || rewound?.kept?.includes(sequence) === true) return id;
  return childInstanceId({ parent, execution, sequence });
}
