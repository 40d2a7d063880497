// The trace context as text: what is written into history, as W3C's traceparent.

import type { Context } from "@opentelemetry/api";
import { context, propagation, ROOT_CONTEXT, trace } from "./api.ts";

const FORM = /^00-(?<trace>[0-9a-f]{32})-(?<span>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/u;

/** Of the active span; undefined: there is none, or it is not valid. */
export function currentTraceParent(active: Context = context.active()): string | undefined {
  const spanContext = trace.getSpanContext(active);
  if (spanContext === undefined || !/[1-9a-f]/u.test(spanContext.traceId)) return undefined;
  const flags = spanContext.traceFlags.toString(16).padStart(2, "0");
  return `00-${spanContext.traceId}-${spanContext.spanId}-${flags}`;
}

/** A context whose parent is that remote span; the root's where the text says nothing. */
export function contextOf(traceParent: string | undefined): Context {
  const parts = traceParent === undefined ? undefined : FORM.exec(traceParent)?.groups;
  if (parts === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(propagation.deleteBaggage(ROOT_CONTEXT), {
    traceId: parts["trace"] ?? "",
    spanId: parts["span"] ?? "",
    traceFlags: Number.parseInt(parts["flags"] ?? "0", 16),
    isRemote: true,
  });
}
