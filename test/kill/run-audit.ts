// The audit of runs: what the workers say they did, against what the histories say was asked and answered.
//   A1. Nothing ran that no history asked for: no effect precedes its cause (I13).
//   A2. What has an outcome ran at least once, and each of its runs had the one key of its call (P3).
//   A3. No attempt of an activity was entered twice: whoever runs it anew after a death is the next attempt.

import type { HistoryEvent } from "../../src/index.ts";
import type { Fault } from "./faults.ts";
import type { RunLine } from "./run-log.ts";

/** One call of an activity or a step, as its history has it. */
export interface Call {
  readonly key: string;
  readonly kind: "activity" | "step";
  readonly name: string;
  readonly instance: string;
  /** The attempt whose result was recorded; null if it has none. */
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
    // Every attempt of poison ended its process: no run handed over an outcome.
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
    const strange = ran.find(
      ({ kind, name, instance }) =>
        kind !== call?.kind || name !== call.name || instance !== call.instance,
    );
    if (strange === undefined) continue;
    const run = `${strange.kind} ${strange.name} of ${strange.instance} (${key})`;
    faults.push({ kind: "unsound", what: `${run} ran, and nobody had asked for it` });
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
    // A death in company does not count (decision 0021), so another process may enter the same attempt again.
    const entries = new Set(begins.map((line) => `${line.pid} ${line.attempt}`));
    if (call.kind === "activity" && entries.size !== begun.length) {
      faults.push({ kind: "duplicated", what: `${what} was entered as ${begun.join()}` });
    }
  }
  return faults;
}

/** How much of it was done over again, and how many runs a death cut off. */
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
