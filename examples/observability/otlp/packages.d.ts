// The parts of the OpenTelemetry packages that telemetry.ts uses. The packages are large, so this repository does not
// install them: these declarations stand for them when the compiler checks the example.

declare module "@opentelemetry/exporter-trace-otlp-http" {
  import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
  export const OTLPTraceExporter: new () => SpanExporter;
}
declare module "@opentelemetry/exporter-metrics-otlp-http" {
  import type { PushMetricExporter } from "@opentelemetry/sdk-metrics";
  export const OTLPMetricExporter: new () => PushMetricExporter;
}
declare module "@opentelemetry/sdk-node" {
  import type { MetricReader } from "@opentelemetry/sdk-metrics";
  import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
  export class NodeSDK {
    constructor(options: {
      serviceName: string;
      traceExporter: SpanExporter;
      metricReaders: MetricReader[];
    });
    start(): void;
    shutdown(): Promise<void>;
  }
}
