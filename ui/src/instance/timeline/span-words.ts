// Texts about a span: its name, its attempts, and how long it was queued and ran.

import { deferPath } from "../../../../src/flow/data/paths.ts";
import type { Span, Waiting } from "../../api/types.ts";
import { formatDuration } from "../../parts/format.ts";

/** For work whose previous attempt failed. */
export function retryWords(attempt: number): string {
  return `retrying, attempt ${attempt}`;
}

export function spanName({ kind, name, node, id }: Span): string {
  if (node !== undefined) return node;
  if (name !== undefined) return name;
  return kind === "timer" ? "sleep" : (id ?? kind);
}

/** Whether the span is a compensation, or cleanup after a cancel. */
export function isCompensation({ compensation, node }: Span): boolean {
  return compensation === true || node?.endsWith(deferPath("")) === true;
}

/** When the code of an activity ran. Null: the history does not say. */
export function runOf({ began, ended, from, to }: Span): {
  readonly queuedMs: number;
  readonly from: number;
  readonly to: number;
} | null {
  if (began === undefined) return null;
  const start = Math.max(Date.parse(began), Date.parse(from));
  const end = ended ?? to;
  return {
    queuedMs: start - Date.parse(from),
    from: start,
    to: end === undefined ? start : Math.max(Date.parse(end), start),
  };
}

/** How long the code ran, and how long the call waited before. Null: not known. */
export function runWords(span: Span, attempts: number): string | null {
  const run = runOf(span);
  if (run === null) return null;
  const before = attempts > 1 ? "before the last attempt" : "queued";
  return `ran ${formatDuration(run.to - run.from)}, ${formatDuration(run.queuedMs)} ${before}`;
}

/** Whether an open activity runs or waits for a worker. Null: it is not an activity. */
export function openWords(waiting: Waiting | undefined): string | null {
  if (waiting?.kind !== "activity") return null;
  if (waiting.completesLater === true) return "completed from outside";
  if (waiting.worker !== undefined) return "running";
  const isLater = Date.parse(waiting.availableAt ?? "") > Date.now();
  return isLater ? "waits for its next attempt" : "queued";
}
