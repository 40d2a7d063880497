// Prints the log lines of a runtime as text, or as JSON with one object per line.

import { formatWithOptions } from "node:util";
import type { LogLevel, LogSink } from "../../core/telemetry/log.ts";
import { defined } from "../../core/values/defined.ts";
import { cleanJson } from "./clean-text.ts";
import { cyan, dim, red, yellow, type Screen, type Styled } from "./screen.ts";
import { showValue } from "./values.ts";

export interface LogLinesOptions {
  readonly json: boolean;
  /** Whether to print debug and trace lines. */
  readonly verbose: boolean;
}

const LABELS: Readonly<Record<LogLevel, Styled>> = {
  trace: dim("trace"),
  debug: dim("debug"),
  info: cyan("info "),
  warn: yellow("warn "),
  error: red("error"),
};

export function logLines(screen: Screen, { json, verbose }: LogLinesOptions): LogSink {
  return (level, message, fields) => {
    if (!verbose && (level === "trace" || level === "debug")) return;
    const now = new Date();
    if (json) {
      const { pid } = process;
      screen.record({ time: now.toISOString(), level, message, pid, fields: plain(fields) });
      return;
    }
    const { error, ...rest } = fields;
    const shown = Object.entries(rest).map(([name, value]) => ` ${name}=${brief(value)}`);
    screen.line(
      dim(`${clock(now)} ${process.pid} `),
      LABELS[level],
      ` ${message}`,
      dim(shown.join("")),
    );
    if (error === undefined) return;
    const text = error instanceof Error ? (error.stack ?? error.message) : showValue(error);
    screen.lines(text, "    ");
  };
}

/**
 * Quotes a text that contains spaces, quotes or control characters, so that it cannot look like another field
 * or line.
 */
function brief(value: unknown): string {
  if (typeof value !== "string") return showValue(value);
  return /^[^\s"\p{C}]+$/u.test(value) ? value : JSON.stringify(value);
}

/** The fields as JSON values. A value that JSON cannot represent becomes the text of util.inspect. */
function plain(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, value]): [string, unknown] => {
    if (value instanceof Error) {
      const { message, stack } = value;
      return [name, { name: value.name, message, ...defined({ stack }) }];
    }
    return [name, isJson(value) ? value : formatWithOptions({ colors: false }, "%O", value)];
  });
  return Object.fromEntries(entries);
}

function isJson(value: unknown): boolean {
  try {
    return typeof cleanJson(value) === "string";
  } catch {
    return false;
  }
}

function clock(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}
