// Spans: a producer span where an instance is started; spans of executions and attempts that belong to its trace.
//   TS1. The context travels as text in the start event, through continueAsNew, children and tasks, so that one
//        trace runs across processes.
//   TS2. An execution's span is made when it ends, with the times of its history: nothing has to be kept alive for
//        as long as an instance sleeps.

import type { Span, Tracer } from "@opentelemetry/api";
import type { TerminalBody } from "../core/history-events.ts";
import type { AttemptSpan, StartSpan, TurnRecord } from "../core/telemetry.ts";
import { context, SpanKind, SpanStatusCode, trace } from "./api.ts";
import { contextOf, currentTraceParent } from "./trace-parent.ts";

export class Spans {
  readonly #tracer: Tracer;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  async start<T>(
    { orchestration, instanceId }: StartSpan,
    fn: (traceParent: string | undefined) => Promise<T>,
  ): Promise<T> {
    const span = this.#tracer.startSpan(`start ${orchestration}`, {
      kind: SpanKind.PRODUCER,
      attributes: { "perdure.orchestration": orchestration, "perdure.instance": instanceId },
    });
    const active = trace.setSpan(context.active(), span);
    try {
      return await context.with(active, () => fn(currentTraceParent(active)));
    } catch (error) {
      fail(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  attempt<T>(attempt: AttemptSpan, fn: () => T): T {
    const parent = contextOf(attempt.traceParent);
    const options = {
      kind: attempt.kind === "activity" ? SpanKind.CONSUMER : SpanKind.INTERNAL,
      attributes: attributesOf(attempt),
    };
    const span = this.#tracer.startSpan(`${attempt.kind} ${attempt.name}`, options, parent);
    return entered(span, () => context.with(trace.setSpan(parent, span), fn));
  }

  /** If the turn ended its execution. */
  ended(turn: TurnRecord): void {
    const last = turn.events.at(-1);
    if (last === undefined || !isEnd(last)) return;
    const span = this.#tracer.startSpan(
      `orchestration ${turn.orchestration}`,
      {
        kind: SpanKind.CONSUMER,
        startTime: turn.startedAt,
        attributes: {
          "perdure.orchestration": turn.orchestration,
          "perdure.version": turn.version,
          "perdure.instance": turn.instanceId,
          "perdure.execution": turn.execution,
          "perdure.history.events": turn.historyLength,
        },
      },
      contextOf(turn.traceParent),
    );
    if (last.kind === "OrchestrationFailed") {
      const { name, message } = last.failure;
      span.recordException({ name, message });
      span.setStatus({ code: SpanStatusCode.ERROR, message });
      span.setAttribute("perdure.outcome", last.outcome);
    } else {
      const outcome = last.kind === "OrchestrationCompleted" ? "completed" : "continuedAsNew";
      span.setAttribute("perdure.outcome", outcome);
    }
    span.end(turn.at);
  }
}

/** Ends the span with what was entered, now or when its promise settles. */
function entered<T>(span: Span, fn: () => T): T {
  let result: T;
  try {
    result = fn();
  } catch (error) {
    fail(span, error);
    span.end();
    throw error;
  }
  if (!(result instanceof Promise)) {
    span.end();
    return result;
  }
  result.then(
    () => span.end(),
    (error: unknown) => {
      fail(span, error);
      span.end();
    },
  );
  return result;
}

function fail(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  span.recordException(error instanceof Error ? error : message);
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

function attributesOf(attempt: AttemptSpan): Record<string, string | number | string[]> {
  return {
    [`perdure.${attempt.kind}`]: attempt.name,
    "perdure.orchestration": attempt.orchestration,
    "perdure.instance": attempt.instanceId,
    "perdure.execution": attempt.execution,
    "perdure.sequence": attempt.sequence,
    "perdure.attempt": attempt.attempt,
    ...(attempt.tags.length === 0 ? {} : { "perdure.tags": [...attempt.tags] }),
  };
}

function isEnd(body: TurnRecord["events"][number]): body is TerminalBody {
  return (
    body.kind === "OrchestrationCompleted" ||
    body.kind === "OrchestrationFailed" ||
    body.kind === "OrchestrationContinuedAsNew"
  );
}
