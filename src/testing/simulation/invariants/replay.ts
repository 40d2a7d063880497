// 11. Any stored history, replayed cold by the code as it stands, asks for the same things in the same order, and
// comes to the same end.
//   RP1. A history that was ended from outside is replayed up to there: the code may well have gone on.

import { asyncContext, drain } from "../../../core/async-context.ts";
import { defaultCodec } from "../../../core/codec.ts";
import type { Orchestration } from "../../../core/definitions.ts";
import type { EventKind, HistoryEvent } from "../../../core/history-events.ts";
import { orchestrationMain } from "../../../core/orchestration-main.ts";
import { Run } from "../../../core/run.ts";
import { isEndedFromOutside, isTerminalKind } from "./fold.ts";

const CANCELS: readonly EventKind[] = [
  "OrchestrationCancelRequested",
  "ActivityCancelRequested",
  "StepCancelRequested",
  "TimerCancelled",
  "EventSubscriptionCancelled",
  "ChildCancelRequested",
];
const hostSetImmediate = setImmediate;

export interface Replayable {
  readonly id: string;
  readonly execution: number;
  readonly priority: number;
  readonly events: readonly HistoryEvent[];
  readonly definition: Orchestration<never, unknown>;
}

/** Why the code does not go with the history, or null. */
export async function replayFault(replayable: Replayable): Promise<string | null> {
  const { events } = replayable;
  const fault = await replay(replayable, isEndedFromOutside(events));
  const last = events.at(-1);
  if (fault === null || last?.kind !== "OrchestrationFailed") return fault;
  // Whether a cancel met code that ran, or one that could not, the end alone does not tell.
  return last.outcome === "cancelled" ? replay(replayable, true) : fault;
}

async function replay(replayable: Replayable, isCutOff: boolean): Promise<string | null> {
  const { id, execution, priority, events, definition } = replayable;
  const history = isCutOff ? withoutEnd(events) : events;
  const run = new Run({
    instanceId: id,
    execution,
    version: definition.version,
    priority,
    codec: defaultCodec,
    main: orchestrationMain(definition),
    history,
    isShadow: true,
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
  return isEnded ? "the replay does not come to its end" : "the replay ends before the history";
}

/** Without the end, and without the cancels that came with it. */
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
