// The OpenTelemetry SDK, with exporters that send traces and metrics over OTLP/HTTP. docs/telemetry.md shows this file.

import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { NodeSDK } from "@opentelemetry/sdk-node";

// Both exporters send to OTEL_EXPORTER_OTLP_ENDPOINT, by default http://localhost:4318.
const metrics = new PeriodicExportingMetricReader({
  exporter: new OTLPMetricExporter(),
  exportIntervalMillis: 10_000,
});
export const sdk = new NodeSDK({
  serviceName: "orders",
  traceExporter: new OTLPTraceExporter(),
  metricReaders: [metrics],
});
sdk.start();
