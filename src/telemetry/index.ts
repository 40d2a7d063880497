// perdure/otel: traces and metrics through OpenTelemetry's API. What is not configured there costs next to nothing.

import type { Meter, Tracer } from "@opentelemetry/api";
import { checkMembers, type Members } from "../core/known-members.ts";
import type { Telemetry } from "../core/telemetry.ts";
import { metrics, trace } from "./api.ts";
import { Instruments } from "./instruments.ts";
import { Spans } from "./spans.ts";

export type { Telemetry } from "../core/telemetry.ts";

/** Which tracer and meter are told; null switches one of them off. */
export interface OpenTelemetryOptions {
  /** Default: `trace.getTracer("perdure")`; null: no spans. */
  readonly tracer?: Tracer | null;
  /** Default: `metrics.getMeter("perdure")`; null: no metrics. */
  readonly meter?: Meter | null;
}

const OPTIONS: Members<OpenTelemetryOptions> = { tracer: true, meter: true };

/** Tells OpenTelemetry what a runtime and its clients do: `runtime: { telemetry: openTelemetry() }`. */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  checkMembers(options, OPTIONS, "openTelemetry");
  const tracer = options.tracer === undefined ? trace.getTracer("perdure") : options.tracer;
  const meter = options.meter === undefined ? metrics.getMeter("perdure") : options.meter;
  const spans = tracer === null ? null : new Spans(tracer);
  const instruments = meter === null ? null : new Instruments(meter);
  return {
    start: (span, fn) => (spans === null ? fn(undefined) : spans.start(span, fn)),
    attempt: (span, fn) => (spans === null ? fn() : spans.attempt(span, fn)),
    attemptOver: (span, outcome, durationMs) => instruments?.attemptOver(span, outcome, durationMs),
    turn(record) {
      spans?.ended(record);
      instruments?.turn(record);
    },
    operation: (name, result) => instruments?.operation(name, result),
    observe: (source) => instruments?.observe(source) ?? (() => undefined),
  };
}
