// Spans, kept in memory here. A real program sets up an SDK that exports them, and calls openTelemetry() without
// options.

import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { Telemetry } from "../../src/index.ts";
import { openTelemetry } from "../../src/telemetry/index.ts";

export interface Traces {
  readonly telemetry: Telemetry;
  /** Names of the spans so far, and whether all belong to one trace. */
  summary(): string;
}

export function collectTraces(): Traces {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  return {
    telemetry: openTelemetry({ tracer: provider.getTracer("example"), meter: null }),
    summary() {
      const spans = exporter.getFinishedSpans();
      const traces = new Set(spans.map((span) => span.spanContext().traceId));
      return `${spans.map(({ name }) => name).join(", ")} (${traces.size} trace)`;
    },
  };
}
