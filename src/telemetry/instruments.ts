// Metrics: the metrics of duroxide, with the same meanings, and some that only this engine has.
//   - Labels have few values: names, versions and outcomes, never the id of an instance.
//   - The store's figures are read when an exporter collects. There is no separate timer.

import type { Attributes, BatchObservableResult, Meter } from "@opentelemetry/api";
import type { EventBody } from "../core/history/events.ts";
import type {
  AskOutcome,
  AskSpan,
  AttemptOutcome,
  AttemptSpan,
  FigureSource,
  QueueMeasures,
  QueueOutcome,
  StoreFigures,
  StreamItemsRecord,
  TurnRecord,
} from "../core/telemetry/telemetry.ts";

const LONG = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1_800, 3_600];
const SHORT = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];
const SIZES = [10, 50, 100, 500, 1_000, 5_000, 10_000, 50_000];
const GROUPS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export class Instruments {
  readonly #meter: Meter;
  readonly #instruments: ReturnType<typeof instruments>;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.#instruments = instruments(meter);
  }

  turn(turn: TurnRecord): void {
    const i = this.#instruments;
    const orchestration = turn.orchestration;
    i.turns.add(1, { orchestration, mode: turn.replayed === 0 ? "hot" : "cold" });
    if (turn.replayed > 0) i.replayLength.record(turn.replayed, { orchestration });
    for (const event of turn.events) this.#event(event, turn);
  }

  attemptOver(attempt: AttemptSpan, outcome: AttemptOutcome, durationMs: number): void {
    const i = this.#instruments;
    const labels = { [attempt.kind]: attempt.name, outcome };
    if (attempt.kind === "step") {
      i.steps.add(1, labels);
      return i.stepDuration.record(durationMs / 1_000, labels);
    }
    const tag = attempt.tags.length === 0 ? "default" : attempt.tags.join(",");
    i.activities.add(1, { ...labels, tag, retry: attempt.attempt > 1 });
    i.activityDuration.record(durationMs / 1_000, { ...labels, tag });
  }

  askOver({ request }: AskSpan, outcome: AskOutcome, durationMs: number): void {
    this.#instruments.asks.record(durationMs / 1_000, { request, outcome });
  }

  callbackOver(kind: string, outcome: string): void {
    this.#instruments.callbacks.add(1, { kind, outcome });
  }

  operation(name: string, result: { items: number; durationMs: number; failed: boolean }): void {
    const status = result.failed ? "error" : "ok";
    this.#instruments.operations.record(result.durationMs / 1_000, { operation: name, status });
    if (result.failed) this.#instruments.operationErrors.add(1, { operation: name });
    else if (name === "commit") this.#instruments.groups.record(result.items);
  }

  messageExpired(event: string): void {
    this.#instruments.messagesExpired.add(1, { event });
  }

  streamItems({ stream, direction, count }: StreamItemsRecord): void {
    this.#instruments.streamItems.add(count, { stream, direction });
  }

  queueOutcome(queue: string, outcome: QueueOutcome): void {
    this.#instruments.queueOutcomes.add(1, { queue, outcome });
  }

  #event(event: EventBody, turn: TurnRecord): void {
    const i = this.#instruments;
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
    this.#instruments.completions.add(1, { orchestration, version, status });
    const seconds = (turn.at - turn.startedAt) / 1_000;
    this.#instruments.duration.record(seconds, { orchestration, version, status });
    this.#instruments.historySize.record(turn.historyLength, { orchestration });
  }

  /** Registers gauges that are read when an exporter collects. Call the returned function to remove them. */
  observe(source: FigureSource): () => void {
    const runtime = this.#meter.createObservableGauge("perdure.runtime", {
      description: "Counts of one runtime, by subject.",
    });
    const store = this.#meter.createObservableGauge("perdure.store", {
      description: "Instances, messages and tasks in the store, by kind.",
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
    const endQueues = this.#observeQueues(() => source.queues());
    return () => {
      runtime.removeCallback(readRuntime);
      store.removeCallback(readStore);
      endQueues();
    };
  }

  /** One series per queue and gauge. One read serves all gauges. */
  #observeQueues(read: () => Promise<readonly QueueMeasures[]>): () => void {
    const gauge = (name: string, description: string, unit?: string) =>
      this.#meter.createObservableGauge(`perdure.queue.${name}`, {
        description,
        ...(unit === undefined ? {} : { unit }),
      });
    const depth = gauge("depth", "Due tasks of a queue that no worker holds.");
    const running = gauge("running", "Tasks of a queue that workers hold.");
    const age = gauge("oldest_age", "Age of the oldest due task of a queue.", "s");
    const observe = async (result: BatchObservableResult): Promise<void> => {
      for (const queue of await read()) {
        const labels = { queue: queue.name };
        result.observe(depth, queue.depth, labels);
        result.observe(running, queue.running, labels);
        result.observe(age, queue.oldestAgeMs / 1_000, labels);
      }
    };
    const gauges = [depth, running, age];
    this.#meter.addBatchObservableCallback(observe, gauges);
    return () => this.#meter.removeBatchObservableCallback(observe, gauges);
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
    starts: counter("orchestration.starts", "Executions started."),
    completions: counter("orchestration.completions", "Executions ended, by status."),
    streamItems: counter("stream.items", "Items of streams, written and read."),
    failures: counter("orchestration.failures", "Executions failed, by category."),
    continued: counter("orchestration.continued_as_new", "Executions that continued as new."),
    duration: histogram(
      "orchestration.duration",
      "Time from start to end of an execution.",
      "s",
      LONG,
    ),
    historySize: histogram(
      "orchestration.history",
      "History events of an ended execution.",
      "{event}",
      SIZES,
    ),
    children: counter("orchestration.children", "Child orchestrations called."),
    turns: counter("turns", "Turns committed, hot or cold."),
    replayLength: histogram(
      "replay.length",
      "Events replayed before a cold turn.",
      "{event}",
      SIZES,
    ),
    activities: counter("activity.executions", "Activity attempts, by outcome."),
    activityDuration: histogram("activity.duration", "Duration of activity attempts.", "s", SHORT),
    poison: counter("activity.poison", "Activities failed as poison."),
    queueOutcomes: counter("queue.outcomes", "Attempts of queues that ended, by outcome."),
    steps: counter("step.executions", "Step attempts, by outcome."),
    stepDuration: histogram("step.duration", "Duration of step attempts.", "s", SHORT),
    asks: histogram("asks", "Time from a client's request to its answer.", "s", SHORT),
    callbacks: counter("callbacks", "Calls from outside, by outcome."),
    messagesExpired: counter(
      "messages.expired",
      "Events that expired before their instance started.",
    ),
    operations: histogram("store.operation.duration", "Duration of store operations.", "s", SHORT),
    operationErrors: counter("store.errors", "Store operations failed."),
    groups: histogram("commit.group", "Items in one group commit.", "{item}", GROUPS),
  };
}
