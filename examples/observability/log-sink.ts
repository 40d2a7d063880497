// Log lines as JSON, one object per line, as log collectors read them.

import type { LogLevel, LogSink } from "../../src/index.ts";

const ORDER: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error"];

/** Fields that are useful to a collector, but not shown in this example. */
const LEFT_OUT = new Set([
  "execution",
  "orchestration",
  "version",
  "worker",
  "tags",
  "since",
  "alive",
]);

/** Lines of this level and above. `write` gets one line at a time, without a line break. */
export function jsonLines(write: (line: string) => void, from: LogLevel = "info"): LogSink {
  return (level, message, fields) => {
    if (ORDER.indexOf(level) < ORDER.indexOf(from)) return;
    const shown = Object.entries(fields).filter(([name]) => !LEFT_OUT.has(name));
    write(JSON.stringify({ level, message, ...Object.fromEntries(shown) }, readable));
  };
}

/** An error has no enumerable properties, so JSON.stringify would write `{}`. */
function readable(_key: string, value: unknown): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message };
  return typeof value === "bigint" ? String(value) : value;
}
