// consoleLog: a log sink that writes to the console, for people or for log collectors.
//   - `error` goes to console.error and `warn` to console.warn (both standard error), the rest to standard
//       output.
//   - Each line is one call of the console with one text: the console does not interpret "%s" in a message.
//   - Texts come from users and from other machines. "pretty" escapes control characters, so that a message
//        cannot move the cursor or forge a line.

import { checkChoice, checkMembers, type Members } from "../checks.ts";
import { LOG_LEVELS, type LogFields, type LogLevel, type LogSink } from "./log.ts";
import { systemEnvironment } from "../time/system-environment.ts";
import { defined } from "../values/defined.ts";

/** How `consoleLog` writes. */
export interface ConsoleLogOptions {
  /** The lowest level that is written. Default "info". */
  readonly level?: LogLevel;
  /** "pretty": one readable line, with the stacks of errors below it. "json": one JSON document per line. */
  readonly format?: "pretty" | "json";
}

const OPTIONS: Members<ConsoleLogOptions> = { level: true, format: true };
const CAUSES_MAX = 10;

/** A log sink that writes to the console: the default of the `log` option. */
export function consoleLog(options: ConsoleLogOptions = {}): LogSink {
  checkMembers(options, OPTIONS, "consoleLog");
  checkChoice(options.level, LOG_LEVELS, "level");
  checkChoice(options.format, ["pretty", "json"], "format");
  const lowest = LOG_LEVELS.indexOf(options.level ?? "info");
  const text = options.format === "json" ? jsonLine : prettyLine;
  return (level, message, fields) => {
    if (LOG_LEVELS.indexOf(level) < lowest) return;
    const line = text(level, message, fields);
    if (level === "error") console.error(line);
    else if (level === "warn") console.warn(line);
    else console.log(line);
  };
}

function prettyLine(level: LogLevel, message: string, fields: LogFields): string {
  const shown: string[] = [];
  const stacks: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof Error) stacks.push(...stackLines(value));
    else if (value !== undefined) shown.push(`${name}=${brief(value)}`);
  }
  const head = [`[perdure] ${level} ${escaped(message)}`, ...shown.map(escaped)].join(" ");
  return [head, ...stacks.map((line) => `    ${escaped(line)}`)].join("\n");
}

function stackLines(error: Error): readonly string[] {
  const lines: string[] = [];
  let current: unknown = error;
  for (let depth = 0; current instanceof Error && depth < CAUSES_MAX; depth++) {
    const text = current.stack ?? `${current.name}: ${current.message}`;
    lines.push(...`${depth === 0 ? "" : "caused by "}${text}`.split("\n"));
    current = current.cause;
  }
  return lines;
}

/** A value as a field shows it. A text that could look like more than one field is quoted. */
function brief(value: unknown): string {
  if (typeof value === "string" && /^[^\s"=]+$/.test(value)) return value;
  return JSON.stringify(plain(value)) ?? String(value);
}

/** Escapes control characters except tab, as JSON does. */
function escaped(text: string): string {
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, (character) => {
    return character === "\n"
      ? "\\n"
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** The same document as `perdure worker --json` writes. */
function jsonLine(level: LogLevel, message: string, fields: LogFields): string {
  const time = new Date(systemEnvironment.now()).toISOString();
  const { pid } = process;
  return JSON.stringify({ time, level, message, pid, fields: plain(fields) });
}

/**
 * A copy that JSON can hold. A value that JSON cannot hold becomes text; a circular reference becomes "[…]".
 */
function plain(value: unknown, above: readonly object[] = []): unknown {
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") {
    return String(value);
  }
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (above.includes(value) || above.length > CAUSES_MAX) return "[…]";
  const inside = [...above, value];
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value;
  if (value instanceof Error) return plainError(value, inside);
  if (value instanceof Map || value instanceof Set) return plain([...value], inside);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => plain(item, inside));
  const entries = Object.entries(value).map(([name, held]) => [name, plain(held, inside)]);
  return Object.fromEntries(entries);
}

function plainError(error: Error, above: readonly object[]): object {
  const { name, message, stack, cause } = error;
  const code: unknown = "code" in error ? error.code : undefined;
  return {
    name,
    message,
    ...(typeof code === "string" ? { code } : {}),
    ...defined({ stack, cause: cause === undefined ? undefined : plain(cause, above) }),
  };
}
