// perdure/otel: traces and metrics through OpenTelemetry's API. Without a configured SDK that API does almost
// nothing, so the cost is close to zero. README.md describes the folder.

import type { Meter, Tracer } from "@opentelemetry/api";
import { checkMembers, type Members } from "../core/checks.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";
import { metrics, trace } from "./api.ts";
import { Instruments } from "./instruments.ts";
import { Spans } from "./spans.ts";

export type { Telemetry } from "../core/telemetry/telemetry.ts";

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** Default: `trace.getTracer("perdure")`. Null: no spans. */
  readonly tracer?: Tracer | null;
  /** Default: `metrics.getMeter("perdure")`. Null: no metrics. */
  readonly meter?: Meter | null;
}

const OPTIONS: Members<OpenTelemetryOptions> = { tracer: true, meter: true };

/**
 * Reports the work of a runtime and its clients to OpenTelemetry: `runtime: { telemetry: openTelemetry()
 * }`.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  checkMembers(options, OPTIONS, "openTelemetry");
  const tracer = options.tracer === undefined ? trace.getTracer("perdure") : options.tracer;
  const meter = options.meter === undefined ? metrics.getMeter("perdure") : options.meter;
  const spans = tracer === null ? null : new Spans(tracer);
  const instruments = meter === null ? null : new Instruments(meter);
  return {
    start: (span, fn) => (spans === null ? fn(undefined) : spans.start(span, fn)),
    ask: (span, fn) => (spans === null ? fn() : spans.ask(span, fn)),
    askOver: (span, outcome, durationMs) => instruments?.askOver(span, outcome, durationMs),
    callback: (span, fn) => (spans === null ? fn() : spans.callback(span, fn)),
    callbackOver: (kind, outcome) => instruments?.callbackOver(kind, outcome),
    request: (traceParent, fn) => (spans === null ? fn() : spans.request(traceParent, fn)),
    attempt: (span, fn) => (spans === null ? fn() : spans.attempt(span, fn)),
    attemptOver: (span, outcome, durationMs) => instruments?.attemptOver(span, outcome, durationMs),
    turn(record) {
      spans?.ended(record);
      instruments?.turn(record);
    },
    operation: (name, result) => instruments?.operation(name, result),
    messageExpired: ({ event }) => instruments?.messageExpired(event),
    streamItems: (record) => instruments?.streamItems(record),
    queueOutcome: (queue, outcome) => instruments?.queueOutcome(queue, outcome),
    observe: (source) => instruments?.observe(source) ?? (() => undefined),
  };
}
