// The run log: what the worker processes did, written by the processes themselves and kept outside the store.
//   - One line per fact, appended by one write to a file opened with O_APPEND: lines of different processes do not mix,
//       and a killed process leaves only whole lines.
//   - A line is written before the fact can have a consequence: "begin" before the work, "end" before its
//       result is handed to the engine. "ack" is written after the engine's promise resolved.
//   - The parent process gets a message for every "begin", so that it can time its kills.

import { openSync, readFileSync, writeSync } from "node:fs";

/** A run has begun, or is about to return its result to the engine. */
export interface RunLine {
  readonly what: "begin" | "end";
  readonly kind: "activity" | "step";
  readonly name: string;
  readonly instance: string;
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
  /** By the host's wall clock. */
  readonly at: number;
}
/** The next statement of this instance's code ends the process (crashers.ts). */
export interface CrashLine {
  readonly what: "crash";
  readonly instance: string;
  readonly pid: number;
  readonly at: number;
}
/** A start through the worker's own client returned. */
export interface AckLine {
  readonly what: "ack";
  readonly instance: string;
  readonly job: number;
  readonly pid: number;
  readonly at: number;
}
/** A log line of the engine, kept to explain a failed run. */
export interface EngineLine {
  readonly what: "engine";
  readonly level: string;
  readonly message: string;
  readonly fields: unknown;
  readonly pid: number;
  readonly at: number;
}
export type LogLine = RunLine | CrashLine | AckLine | EngineLine;

type Unsigned<Line> = Line extends LogLine ? Omit<Line, "pid" | "at"> : never;

export class RunLog {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  append(line: Unsigned<LogLine>): void {
    const signed = { ...line, pid: process.pid, at: Date.now() };
    writeSync(this.#file, `${JSON.stringify(signed)}\n`);
    if (line.what === "begin") process.send?.("begin");
  }
}

/** Every whole line so far. */
export function readLog(path: string): LogLine[] {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as LogLine); // written by RunLog.append
}

export function isRun(line: LogLine): line is RunLine {
  return line.what === "begin" || line.what === "end";
}
