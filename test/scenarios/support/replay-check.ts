// The final check of every history: the registered code, replayed cold and without a runtime, must reach the same end.
//   The engine's shadow replay skips the turn that ends an execution. This check covers that turn.
//   If the store ended the instance, the replay stops before that end, because the code might have continued.

import { setImmediate } from "node:timers/promises";
import { drain } from "../../../src/core/context/async-context.ts";
import { bodyOf } from "../../../src/core/history/rows.ts";
import { defaultCodec } from "../../../src/core/values/codec.ts";
import { orchestrationMain } from "../../../src/core/replay/orchestration-main.ts";
import type { OpenTask } from "../../../src/core/replay/open-task.ts";
import { Run } from "../../../src/core/replay/run.ts";
import type { EventKind, HistoryEvent, InstanceInfo, Orchestration } from "../../../src/index.ts";
import { isEndedFromOutside } from "./invariants.ts";
import { withoutStacks } from "./snapshot.ts";

export interface Replayed {
  /** Why the code does not match the history, or null. */
  readonly blocked: string | null;
  /** The end that the replay reached, without its sequence and time. */
  readonly end: unknown;
  /** The recorded end. */
  readonly recordedEnd: unknown;
  /** The open tasks of the replay, such as "timer 3", in schedule order. */
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
    readKeyValue: () => Promise.reject(new Error("a replay must read only history (I15)")),
  });
  while (run.hasMoreHistory) {
    await drained(run, () => run.replayNext());
    while (run.endDrain() === "again") await drained(run, () => run.lateRejection());
  }
  const last = history.at(-1);
  return {
    blocked: cutOff && wantsMore(run, history) ? null : (run.blocked?.message ?? null),
    end: cutOff ? null : withoutStacks(run.ended),
    recordedEnd: last === undefined || !isEnd(last) ? null : withoutStacks(bodyOf(last)),
    open: [...run.openTasks.values()].map((task) => `${kindOf(task)} ${task.sequence}`),
  };
}

/** True if the code requests an event after the last recorded one. Only the end from outside stopped it there. */
function wantsMore({ blocked }: Run, history: readonly HistoryEvent[]): boolean {
  return blocked?.recorded === null && blocked.sequence === history.length + 1;
}

/** The history without its end and without the cancellations of tasks that were open at the end. */
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
  "AskCancelled",
  "RequestsClosed",
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

/** A callback is a wait for an event with a reserved name. */
function kindOf(task: OpenTask): string {
  return task.kind === "event" && task.callback !== undefined ? "callback" : task.kind;
}
