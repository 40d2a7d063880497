// Metrics: what duroxide counts, each with the meaning its documentation gives it, and what our engine adds.
//   TM1. Labels have few values: names, versions, outcomes; never an instance's id.
//   TM2. Figures of the store are read when an exporter collects, not by a timer of ours.

import type { Attributes, Meter } from "@opentelemetry/api";
import type { EventBody } from "../core/history-events.ts";
import type {
  AttemptOutcome,
  AttemptSpan,
  FigureSource,
  StoreFigures,
  TurnRecord,
} from "../core/telemetry.ts";

const LONG = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1_800, 3_600];
const SHORT = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];
const SIZES = [10, 50, 100, 500, 1_000, 5_000, 10_000, 50_000];
const GROUPS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export class Instruments {
  readonly #meter: Meter;
  readonly #i: ReturnType<typeof instruments>;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.#i = instruments(meter);
  }

  turn(turn: TurnRecord): void {
    const i = this.#i;
    const orchestration = turn.orchestration;
    i.turns.add(1, { orchestration, mode: turn.replayed === 0 ? "hot" : "cold" });
    if (turn.replayed > 0) i.replayLength.record(turn.replayed, { orchestration });
    for (const event of turn.events) this.#event(event, turn);
  }

  attemptOver(attempt: AttemptSpan, outcome: AttemptOutcome, durationMs: number): void {
    const i = this.#i;
    const labels = { [attempt.kind]: attempt.name, outcome };
    if (attempt.kind === "step") {
      i.steps.add(1, labels);
      return i.stepDuration.record(durationMs / 1_000, labels);
    }
    const tag = attempt.tags.length === 0 ? "default" : attempt.tags.join(",");
    i.activities.add(1, { ...labels, tag, retry: attempt.attempt > 1 });
    i.activityDuration.record(durationMs / 1_000, { ...labels, tag });
  }

  operation(name: string, result: { items: number; durationMs: number; failed: boolean }): void {
    const status = result.failed ? "error" : "ok";
    this.#i.operations.record(result.durationMs / 1_000, { operation: name, status });
    if (result.failed) this.#i.operationErrors.add(1, { operation: name });
    else if (name === "commit") this.#i.groups.record(result.items);
  }

  #event(event: EventBody, turn: TurnRecord): void {
    const i = this.#i;
    const labels = { orchestration: turn.orchestration, version: turn.version };
    switch (event.kind) {
      case "OrchestrationStarted": {
        const first = event.parent === undefined ? "client" : "parent";
        const startedBy = turn.execution > 1 ? "continueAsNew" : first;
        return i.starts.add(1, { ...labels, startedBy });
      }
      case "OrchestrationCompleted":
        return this.#over(turn, "completed");
      case "OrchestrationFailed":
        i.failures.add(1, { ...labels, category: event.failure.category });
        return this.#over(turn, event.outcome);
      case "OrchestrationContinuedAsNew":
        i.continued.add(1, labels);
        return this.#over(turn, "continuedAsNew");
      case "ChildScheduled":
        return i.children.add(1, { orchestration: turn.orchestration, child: event.name });
      case "ActivityFailed":
        if (event.failure.category === "poison") i.poison.add(1);
        return;
      default:
    }
  }

  #over(turn: TurnRecord, status: string): void {
    const { orchestration, version } = turn;
    this.#i.completions.add(1, { orchestration, version, status });
    const seconds = (turn.at - turn.startedAt) / 1_000;
    this.#i.duration.record(seconds, { orchestration, version, status });
    this.#i.historySize.record(turn.historyLength, { orchestration });
  }

  /** Gauges that are read when somebody collects. */
  observe(source: FigureSource): () => void {
    const runtime = this.#meter.createObservableGauge("perdure.runtime", {
      description: "Figures of one runtime, by what they count.",
    });
    const store = this.#meter.createObservableGauge("perdure.store", {
      description: "Instances, messages and tasks of the store, by what they are.",
    });
    const readRuntime = (result: { observe(value: number, labels: Attributes): void }): void => {
      const { runtimeId, ...figures } = source.runtime();
      for (const [what, value] of Object.entries(figures)) {
        result.observe(value, { runtime: runtimeId, what });
      }
    };
    const readStore = async (result: {
      observe(value: number, labels: Attributes): void;
    }): Promise<void> => {
      for (const [what, value] of Object.entries(flat(await source.store()))) {
        result.observe(value, { what });
      }
    };
    runtime.addCallback(readRuntime);
    store.addCallback(readStore);
    return () => {
      runtime.removeCallback(readRuntime);
      store.removeCallback(readStore);
    };
  }
}

function flat({ instances, ...rest }: StoreFigures): Readonly<Record<string, number>> {
  const named = Object.entries(instances).map(([status, count]) => [`instances.${status}`, count]);
  return { ...rest, ...(Object.fromEntries(named) as Record<string, number>) };
}

function instruments(meter: Meter) {
  const counter = (name: string, description: string) =>
    meter.createCounter(`perdure.${name}`, { description });
  const histogram = (name: string, description: string, unit: string, boundaries: number[]) =>
    meter.createHistogram(`perdure.${name}`, {
      description,
      unit,
      advice: { explicitBucketBoundaries: boundaries },
    });
  return {
    starts: counter("orchestration.starts", "Executions that began."),
    completions: counter("orchestration.completions", "Executions that ended, by status."),
    failures: counter("orchestration.failures", "Executions that failed, by category."),
    continued: counter("orchestration.continued_as_new", "Executions that began a next one."),
    duration: histogram("orchestration.duration", "From start to end of an execution.", "s", LONG),
    historySize: histogram(
      "orchestration.history",
      "Events of an ended execution.",
      "{event}",
      SIZES,
    ),
    children: counter("orchestration.children", "Children that were called."),
    turns: counter("turns", "Turns that were committed, hot or cold."),
    replayLength: histogram(
      "replay.length",
      "Events replayed before a cold turn.",
      "{event}",
      SIZES,
    ),
    activities: counter("activity.executions", "Attempts of activities, by outcome."),
    activityDuration: histogram("activity.duration", "Attempts of activities.", "s", SHORT),
    poison: counter("activity.poison", "Activities that were given up as poison."),
    steps: counter("step.executions", "Attempts of inline steps, by outcome."),
    stepDuration: histogram("step.duration", "Attempts of inline steps.", "s", SHORT),
    operations: histogram("store.operation.duration", "Calls of the store.", "s", SHORT),
    operationErrors: counter("store.errors", "Calls of the store that failed."),
    groups: histogram("commit.group", "Items in one group commit.", "{item}", GROUPS),
  };
}
