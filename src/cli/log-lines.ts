// Log lines of a runtime on the command line: for people, or as JSON, one document a line.

import { formatWithOptions } from "node:util";
import type { LogLevel, LogSink } from "../core/log.ts";
import { cleanJson } from "./clean-text.ts";
import { cyan, dim, red, yellow, type Screen, type Styled } from "./screen.ts";
import { showValue } from "./values.ts";

export interface LogLinesOptions {
  readonly json: boolean;
  /** Whether debug and trace are shown too. */
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

/** A text that could be read as more than one field, or as another line, has quotes and escapes. */
function brief(value: unknown): string {
  if (typeof value !== "string") return showValue(value);
  return /^[^\s"\p{C}]+$/u.test(value) ? value : JSON.stringify(value);
}

/** What JSON can hold; the rest as Node shows it. */
function plain(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, value]): [string, unknown] => {
    if (value instanceof Error) {
      const { message, stack } = value;
      return [name, { name: value.name, message, ...(stack === undefined ? {} : { stack }) }];
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
