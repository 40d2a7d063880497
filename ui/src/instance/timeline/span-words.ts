// Texts about a span: its name and its attempts.

import type { Span } from "../../api/types.ts";

/** For work whose previous attempt failed. */
export function retryWords(attempt: number): string {
  return `retrying, attempt ${attempt}`;
}

export function spanName({ kind, name, node, id }: Span): string {
  if (node !== undefined) return node;
  if (name !== undefined) return name;
  return kind === "timer" ? "sleep" : (id ?? kind);
}
