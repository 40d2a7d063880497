// A process that runs an activity with a tag and sends its spans when it receives a message.

import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { activity, Perdure } from "../../../src/index.ts";
import { openTelemetry } from "../../../src/telemetry/index.ts";

const spans = new InMemorySpanExporter();
const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const telemetry = openTelemetry({ tracer: tracers.getTracer("remote"), meter: null });
const remote = activity("remote", (word: string) => `${word} from afar`);

await Perdure.open(`sqlite:${process.argv[2] ?? ""}`, {
  register: [remote],
  runtime: { tags: { tags: ["far"], untagged: false }, telemetry, log: () => undefined },
});

process.on("message", () => {
  const finished = spans.getFinishedSpans().map((span) => ({
    name: span.name,
    traceId: span.spanContext().traceId,
    parent: span.parentSpanContext?.spanId,
  }));
  process.send?.(finished);
});
