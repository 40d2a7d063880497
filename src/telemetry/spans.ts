// Spans: a producer span for each start, a client span for each request, a consumer span for each call from outside, and
// spans of executions and attempts in the trace of the start.
//   - The trace context is stored as text in the start event and passed on through continueAsNew, children
//        and tasks. One trace therefore spans several processes.
//   - The span of an execution is created when the execution ends, with the times from its history. No span
//        has to stay open while an instance sleeps.

import type { Context, Span, Tracer } from "@opentelemetry/api";
import type { TerminalBody } from "../core/history/events.ts";
import type {
  AskSpan,
  AttemptSpan,
  CallbackEnd,
  CallbackSpan,
  StartSpan,
  TurnRecord,
} from "../core/telemetry/telemetry.ts";
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "./api.ts";
import { errorMessage } from "../core/errors/errors.ts";
import { askOutcomeOf } from "../core/telemetry/ask-outcome.ts";

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

  /** One span from the request to its answer. It is a child of the caller's span. */
  async ask<T>({ request, instanceId }: AskSpan, fn: () => Promise<T>): Promise<T> {
    const span = this.#tracer.startSpan(`ask ${request}`, {
      kind: SpanKind.CLIENT,
      attributes: { "perdure.request": request, "perdure.instance": instanceId },
    });
    try {
      const answer = await context.with(trace.setSpan(context.active(), span), fn);
      span.setAttribute("perdure.outcome", "answered");
      return answer;
    } catch (error) {
      span.setAttribute("perdure.outcome", askOutcomeOf(error));
      fail(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  /** One span from the request to its answer, inside the caller's own span, with a link to the instance's trace. */
  async callback<T extends CallbackEnd>(
    { kind, name, instanceId }: CallbackSpan,
    fn: () => Promise<T>,
  ): Promise<T> {
    const span = this.#tracer.startSpan(`${kind === "webhook" ? "webhook" : "callback"} ${name}`, {
      kind: SpanKind.CONSUMER,
      attributes: {
        [`perdure.${kind}`]: name,
        ...(instanceId === undefined ? {} : { "perdure.instance": instanceId }),
      },
    });
    try {
      const end = await context.with(trace.setSpan(context.active(), span), fn);
      span.setAttribute("perdure.outcome", end.outcome);
      const linked = trace.getSpanContext(contextOf(end.traceParent));
      if (linked !== undefined) span.addLink({ context: linked });
      return end;
    } catch (error) {
      fail(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  /** In the remote span of the request, unless instrumentation of the HTTP server has made a span active. */
  request<T>(traceParent: string, fn: () => T): T {
    const remote = trace.getSpanContext(contextOf(traceParent));
    if (remote === undefined || trace.getSpan(context.active()) !== undefined) return fn();
    return context.with(trace.setSpanContext(context.active(), remote), fn);
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

  /** Records the span of an execution if this turn ended it. */
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

/** Runs the function and ends the span when the function returns or its promise settles. */
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
  const message = errorMessage(error);
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

// The trace context as text, as history stores it: a W3C traceparent.

const TRACE_PARENT = /^00-(?<trace>[0-9a-f]{32})-(?<span>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/u;

/** The traceparent of the active span. Undefined: there is no active span, or it is not valid. */
function currentTraceParent(active: Context = context.active()): string | undefined {
  const spanContext = trace.getSpanContext(active);
  if (spanContext === undefined || !/[1-9a-f]/u.test(spanContext.traceId)) return undefined;
  const flags = spanContext.traceFlags.toString(16).padStart(2, "0");
  return `00-${spanContext.traceId}-${spanContext.spanId}-${flags}`;
}

/** A context with the remote span as its parent. The root context if the text is absent or not valid. */
function contextOf(traceParent: string | undefined): Context {
  const parts = traceParent === undefined ? undefined : TRACE_PARENT.exec(traceParent)?.groups;
  if (parts === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(propagation.deleteBaggage(ROOT_CONTEXT), {
    traceId: parts["trace"] ?? "",
    spanId: parts["span"] ?? "",
    traceFlags: Number.parseInt(parts["flags"] ?? "0", 16),
    isRemote: true,
  });
}
