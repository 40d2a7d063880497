// A last check of every history: the code that is registered replays it to the same end, cold, beside any runtime.
//   The engine's own shadow does not look at the turn that ends an execution; this does, with the whole end.
//   A history that was ended from outside is replayed up to there: the code may well have gone on.

import { setImmediate } from "node:timers/promises";
import { drain } from "../../../src/core/async-context.ts";
import { defaultCodec } from "../../../src/core/codec.ts";
import { orchestrationMain } from "../../../src/core/orchestration-main.ts";
import { Run } from "../../../src/core/run.ts";
import type { EventKind, HistoryEvent, InstanceInfo, Orchestration } from "../../../src/index.ts";
import { isEndedFromOutside } from "./invariants.ts";
import { withoutStacks } from "./snapshot.ts";

export interface Replayed {
  /** Why the code does not go with the history, or null. */
  readonly blocked: string | null;
  /** The end that the replay came to, without its place and time. */
  readonly end: unknown;
  /** The end that is recorded. */
  readonly recordedEnd: unknown;
  /** What the replay waits for: "timer 3", in schedule order. */
  readonly open: readonly string[];
}

export async function replay(
  definition: Orchestration<never, unknown>,
  instance: InstanceInfo,
  execution: number,
  events: readonly HistoryEvent[],
): Promise<Replayed> {
  const cutOff = isEndedFromOutside(events);
  const history = cutOff ? withoutEnd(events) : events;
  const run = new Run({
    instanceId: instance.id,
    execution,
    version: definition.version,
    priority: instance.priority,
    codec: defaultCodec,
    main: orchestrationMain(definition),
    history,
    readKeyValue: () => Promise.reject(new Error("a replay reads nothing but history (I15)")),
  });
  while (run.hasMoreHistory) {
    await drained(run, () => run.replayNext());
    while (run.endDrain() === "again") await drained(run, () => run.lateRejection());
  }
  const last = history.at(-1);
  return {
    blocked: cutOff && wantsMore(run, history) ? null : (run.blocked?.message ?? null),
    end: cutOff ? null : withoutStacks(run.ended),
    recordedEnd: last === undefined || !isEnd(last) ? null : withoutStacks(body(last)),
    open: [...run.open.values()].map((task) => `${task.kind} ${task.sequence}`),
  };
}

/** The code asks for something beyond the last event: nobody stopped it there but whoever ended it. */
function wantsMore({ blocked }: Run, history: readonly HistoryEvent[]): boolean {
  return blocked?.recorded === null && blocked.sequence === history.length + 1;
}

/** Without the end, and without the cancels of what was open then. */
function withoutEnd(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const last = events.findLastIndex(({ kind }) => !isEnd({ kind }) && !CANCELS.includes(kind));
  return events.slice(0, last + 1);
}

const CANCELS: readonly EventKind[] = [
  "ActivityCancelRequested",
  "StepCancelRequested",
  "TimerCancelled",
  "EventSubscriptionCancelled",
  "ChildCancelRequested",
];

async function drained(run: Run, step: () => void): Promise<void> {
  drain.run = run;
  step();
  await setImmediate();
  drain.run = null;
}

function isEnd({ kind }: Pick<HistoryEvent, "kind">): boolean {
  return (
    kind === "OrchestrationCompleted" ||
    kind === "OrchestrationFailed" ||
    kind === "OrchestrationContinuedAsNew"
  );
}

function body({ sequence: _sequence, at: _at, version: _version, ...rest }: HistoryEvent): object {
  return rest;
}
