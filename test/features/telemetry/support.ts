// The OpenTelemetry SDK with exporters that keep spans and metrics in memory.

import { context } from "@opentelemetry/api";
import { AsyncLocalStorage } from "node:async_hooks";
import type { Context, ContextManager } from "@opentelemetry/api";
import { ROOT_CONTEXT } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { onTestFinished } from "vitest";
import { openTelemetry } from "../../../src/telemetry/index.ts";

/** A context manager as in the SDK for Node: the active context follows async calls. */
class Contexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    fn: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(active, () => fn.call(thisArg, ...args));
  }
  bind<T>(_: Context, target: T): T {
    return target;
  }
  enable(): this {
    return this;
  }
  disable(): this {
    return this;
  }
}

export function collecting() {
  context.setGlobalContextManager(new Contexts());
  const spans = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const kept = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: kept, exportIntervalMillis: 3.6e6 });
  const meters = new MeterProvider({ readers: [reader] });
  onTestFinished(async () => {
    context.disable();
    await meters.shutdown();
    await tracers.shutdown();
  });
  const telemetry = openTelemetry({
    tracer: tracers.getTracer("test"),
    meter: meters.getMeter("test"),
  });
  return {
    telemetry,
    tracer: tracers.getTracer("user"),
    spans: () => spans.getFinishedSpans(),
    /** The value of every data point, or the count of a histogram, by `name{labels}`. */
    async metrics(): Promise<Record<string, number>> {
      kept.reset();
      await reader.forceFlush();
      const found: Record<string, number> = {};
      for (const { scopeMetrics } of kept.getMetrics()) {
        for (const { metrics } of scopeMetrics) {
          for (const { descriptor, dataPoints } of metrics) {
            for (const { attributes, value } of dataPoints) {
              const labels = Object.entries(attributes)
                .map(([name, text]) => `${name}=${String(text)}`)
                .toSorted();
              const key = `${descriptor.name}{${labels.join()}}`;
              found[key] = typeof value === "number" ? value : (value as { count: number }).count;
            }
          }
        }
      }
      return found;
    },
  };
}
