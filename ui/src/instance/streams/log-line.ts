// A line of the stream of log lines.
//   - A line whose fields JSON does not have, such as dates, comes in the codec's tagged form. The members of objects
//     keep their names in it.

import { LOG_LEVELS, type LogLevel } from "../../../../src/core/telemetry/log.ts";

export interface ShownLine {
  /** ISO. Null: the value has no valid time. */
  readonly at: string | null;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: unknown;
}

const TIME_MAX = 8.64e15;

export function lineOf(value: unknown): ShownLine {
  const tagged = membersOf(value)["$perdure"];
  const { at, level, message, fields } = membersOf(tagged ?? value);
  const isLine = typeof message === "string";
  return {
    at: typeof at === "number" && Math.abs(at) <= TIME_MAX ? new Date(at).toISOString() : null,
    level: LOG_LEVELS.find((each) => each === level) ?? "info",
    message: isLine ? message : (JSON.stringify(value) ?? "undefined"),
    fields: !isLine || fields === undefined || tagged === undefined ? fields : { $perdure: fields },
  };
}

export function isAtLeast(level: LogLevel, lowest: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(lowest);
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return {};
  return value as Readonly<Record<string, unknown>>; // any object has members of unknown types
}
