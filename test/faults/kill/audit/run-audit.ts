// The audit of runs: compares the runs that the workers logged with the calls and outcomes in the histories.
//   - Every run has a scheduled call in a history: no effect precedes its cause (I13).
//   - A call with an outcome ran at least once, and all of its runs had the key of the call (P3).
//   - No process ran the same attempt of an activity twice: a rerun after a death is the next attempt.

import type { HistoryEvent } from "../../../../src/index.ts";
import type { Fault } from "../faults.ts";
import type { RunLine } from "./run-log.ts";

/** One call of an activity or a step, as recorded in the history. */
export interface Call {
  readonly key: string;
  readonly kind: "activity" | "step";
  readonly name: string;
  readonly instance: string;
  /** The attempt that produced the recorded result; null if no result was recorded. */
  readonly recorded: number | null;
}

export function callsOf(
  instance: string,
  execution: number,
  events: readonly HistoryEvent[],
): readonly Call[] {
  const [started] = events;
  if (started?.kind !== "OrchestrationStarted") return [];
  const recorded = new Map<number, number>();
  for (const event of events) {
    // Every attempt of a poison activity ended its process, so no run returned an outcome.
    const isPoison = event.kind === "ActivityFailed" && event.failure.category === "poison";
    if ("attempts" in event && !isPoison) recorded.set(event.scheduled, event.attempts);
  }
  return events.flatMap((event): Call[] => {
    if (event.kind !== "ActivityScheduled" && event.kind !== "StepScheduled") return [];
    const { name, sequence } = event;
    const kind = event.kind === "ActivityScheduled" ? "activity" : "step";
    const key = `${started.runId}:${execution}:${sequence}`;
    return [{ key, kind, name, instance, recorded: recorded.get(sequence) ?? null }];
  });
}

export function runFaults(calls: readonly Call[], lines: readonly RunLine[]): Fault[] {
  const faults: Fault[] = [];
  const byKey = new Map(calls.map((call) => [call.key, call]));
  const runs = Map.groupBy(lines, (line) => line.key);
  if (byKey.size !== calls.length) {
    faults.push({ kind: "duplicated", what: "two calls share a key" });
  }
  for (const [key, ran] of runs) {
    const call = byKey.get(key);
    const mismatch = ran.find(
      ({ kind, name, instance }) =>
        kind !== call?.kind || name !== call.name || instance !== call.instance,
    );
    if (mismatch === undefined) continue;
    const run = `${mismatch.kind} ${mismatch.name} of ${mismatch.instance} (${key})`;
    faults.push({ kind: "unsound", what: `${run} ran, but no history scheduled it` });
  }
  for (const call of calls) {
    const ran = runs.get(call.key) ?? [];
    const what = `${call.kind} ${call.name} of ${call.instance} (${call.key})`;
    const begins = ran.filter((line) => line.what === "begin");
    const begun = begins.map((line) => line.attempt);
    const ended = ran.filter((line) => line.what === "end").map((line) => line.attempt);
    if (call.recorded !== null && !ended.includes(call.recorded)) {
      const attempts = `has the outcome of attempt ${call.recorded}; ended: ${ended.join()}`;
      faults.push({ kind: "unsound", what: `${what} ${attempts}` });
    }
    // A process death does not count against an instance while others ran with it (decision 0021), so another process
    // may run the same attempt again.
    const entries = new Set(begins.map((line) => `${line.pid} ${line.attempt}`));
    if (call.kind === "activity" && entries.size !== begun.length) {
      faults.push({ kind: "duplicated", what: `${what} ran as attempts ${begun.join()}` });
    }
  }
  return faults;
}

/** Counts the calls, the runs, the reruns, and the runs that a process death interrupted. */
export function countRuns(lines: readonly RunLine[]) {
  const begins = lines.filter((line) => line.what === "begin");
  const ends = lines.filter((line) => line.what === "end");
  const calls = new Set(begins.map((line) => line.key)).size;
  return {
    calls,
    runs: begins.length,
    reruns: begins.length - calls,
    cutOff: begins.length - ends.length,
  };
}
