// What a span is called.

import type { Span } from "../../api/types.ts";

export function spanName({ kind, name, node, id }: Span): string {
  if (node !== undefined) return node;
  if (name !== undefined) return name;
  return kind === "timer" ? "sleep" : (id ?? kind);
}
