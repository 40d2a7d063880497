// Observation: reports group commits, turns and attempts to telemetry, and supplies figures on request
// (core/telemetry/telemetry.ts).

import type { Committer } from "../../core/commit/committer.ts";
import type { TurnItem } from "../../core/provider/commit.ts";
import type { EventBody } from "../../core/history/events.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";
import type { Run } from "../../core/replay/run.ts";
import type {
  AttemptOutcome,
  AttemptSpan,
  QueueMeasures,
  RuntimeFigures,
  Telemetry,
} from "../../core/telemetry/telemetry.ts";
import type { HeldInstance } from "../instances/held-instance.ts";
import type { FinishedTurn } from "../replay/turn-job.ts";

/** Begins to report; the returned function ends it. */
export function observe(options: {
  readonly telemetry: Telemetry;
  readonly committer: Committer;
  readonly provider: Provider;
  readonly figures: () => RuntimeFigures;
}): () => void {
  const { telemetry, committer, provider, figures } = options;
  const onGroup = (items: number, durationMs: number, failed: boolean): void =>
    telemetry.operation("commit", { items, durationMs, failed });
  committer.onGroup.add(onGroup);
  const end = telemetry.observe({
    runtime: figures,
    store: () => provider.readMetrics(),
    queues: () => readQueueMeasures(provider),
  });
  return () => {
    committer.onGroup.delete(onGroup);
    end();
  };
}

async function readQueueMeasures(provider: Provider): Promise<readonly QueueMeasures[]> {
  const figures = await provider.readQueueFigures();
  const now = provider.now();
  return figures.map(({ name, waiting, running, oldestAvailableAt: oldestAt }) => ({
    name,
    depth: waiting,
    running,
    oldestAgeMs: oldestAt === null ? 0 : Math.max(0, now - oldestAt),
  }));
}

export function reportTurn(
  telemetry: Telemetry,
  { held, run, at, replayed }: FinishedTurn,
  { streams = [] }: Pick<TurnItem, "streams">,
  events: readonly EventBody[],
): void {
  telemetry.turn({
    orchestration: held.name,
    version: held.definition.version,
    instanceId: held.id,
    execution: held.execution,
    events,
    replayed,
    historyLength: held.lastEvent + events.length,
    startedAt: run.startedAt,
    at,
    traceParent: run.started.traceParent,
  });
  for (const { name: stream, values } of streams) {
    const count = values.length;
    if (count > 0) telemetry.streamItems?.({ stream, direction: "written", count });
  }
}

export function activitySpan(task: LeasedTask): AttemptSpan {
  return {
    kind: "activity",
    name: task.name,
    instanceId: task.instanceId,
    execution: task.execution,
    orchestration: task.orchestration,
    sequence: task.sequence,
    attempt: task.attempt + 1,
    tags: task.tags ?? [],
    traceParent: task.options?.traceParent,
  };
}

export function stepSpan(
  held: HeldInstance,
  run: Run | null,
  step: { readonly name: string; readonly sequence: number; readonly attempt: number },
): AttemptSpan {
  return {
    kind: "step",
    ...step,
    instanceId: held.id,
    execution: held.execution,
    orchestration: held.name,
    tags: [],
    traceParent: run?.started.traceParent,
  };
}

/** Reports the end of an attempt once: the first outcome counts. */
export class AttemptWatch {
  readonly span: AttemptSpan;
  readonly #telemetry: Telemetry;
  readonly #monotonic: () => number;
  readonly #began: number;
  #isOver = false;

  constructor(telemetry: Telemetry, span: AttemptSpan, monotonic: () => number) {
    this.#telemetry = telemetry;
    this.span = span;
    this.#monotonic = monotonic;
    this.#began = monotonic();
  }

  enter<T>(fn: () => T): T {
    return this.#telemetry.attempt(this.span, fn);
  }

  over(outcome: AttemptOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#telemetry.attemptOver(this.span, outcome, this.#monotonic() - this.#began);
  }
}
