// Invariant 11: a replay of any stored history makes the same calls in the same order and has the same end.
//   - A history that was ended from outside is replayed without its end: the code may have continued.

import { asyncContext, drain } from "../../../core/context/async-context.ts";
import { defaultCodec } from "../../../core/values/codec.ts";
import type { Orchestration } from "../../../core/define/definitions.ts";
import type { EventKind, HistoryEvent } from "../../../core/history/events.ts";
import { orchestrationMain } from "../../../core/replay/orchestration-main.ts";
import { Run } from "../../../core/replay/run.ts";
import { copiedUntil } from "./copied.ts";
import { isEndedFromOutside, isTerminalKind } from "./fold.ts";

const CANCELS: readonly EventKind[] = [
  "OrchestrationCancelRequested",
  "ActivityCancelRequested",
  "StepCancelRequested",
  "TimerCancelled",
  "EventSubscriptionCancelled",
  "ChildCancelRequested",
  "AskCancelled",
  "RequestsClosed",
];
const hostSetImmediate = setImmediate;

export interface Replayable {
  readonly id: string;
  readonly execution: number;
  readonly priority: number;
  readonly events: readonly HistoryEvent[];
  readonly definition: Orchestration<never, unknown>;
}

/** Returns the difference between the code and the history, or null. */
export async function replayFault(replayable: Replayable): Promise<string | null> {
  const { events } = replayable;
  const fault = await replay(replayable, isEndedFromOutside(events));
  const last = events.at(-1);
  if (fault === null || last?.kind !== "OrchestrationFailed") return fault;
  // The end does not show whether the code ran when the cancel arrived. Both cases are tried.
  return last.outcome === "cancelled" ? replay(replayable, true) : fault;
}

async function replay(replayable: Replayable, isCutOff: boolean): Promise<string | null> {
  const { id, execution, priority, events, definition } = replayable;
  const history = isCutOff ? withoutEnd(events) : events;
  const copied = Math.min(copiedUntil(events, execution), history.length);
  const run = new Run({
    instanceId: id,
    execution,
    version: definition.version,
    priority,
    codec: defaultCodec,
    main: orchestrationMain(definition),
    history,
    isShadow: true,
    ...(copied === 0 ? {} : { copiedUntil: copied }),
    onMisuse: () => undefined,
  });
  while (run.hasMoreHistory) {
    await drained(run, () => run.replayNext());
    while (run.endDrain() === "again") await drained(run, () => run.lateRejection());
  }
  if (run.blocked !== null) {
    const { recorded, sequence, message } = run.blocked;
    const wantsMore = recorded === null && sequence === history.length + 1;
    return isCutOff && wantsMore ? null : message;
  }
  const last = history.at(-1);
  const isEnded = last !== undefined && isTerminalKind(last.kind);
  if (isCutOff || isEnded === (run.ended !== null)) return null;
  return isEnded ? "the replay does not end" : "the replay ends before the history";
}

/** The events without the end and without the cancellations that the end caused. */
function withoutEnd(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const isEnding = ({ kind }: HistoryEvent): boolean =>
    isTerminalKind(kind) || CANCELS.includes(kind);
  return events.slice(0, events.findLastIndex((event) => !isEnding(event)) + 1);
}

async function drained(run: Run, step: () => void): Promise<void> {
  drain.run = run;
  asyncContext.run(undefined, step);
  await new Promise<void>((resolve) => void hostSetImmediate(resolve));
  drain.run = null;
}
