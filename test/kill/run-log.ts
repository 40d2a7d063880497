// The run log: what worker processes really did, told by themselves and kept outside the store.
//   G1. One line a fact, appended by one write to a file opened with O_APPEND: lines of many processes do not mix,
//       and a killed process leaves whole lines behind.
//   G2. A line is written before the fact can have a consequence: "begin" before the work, "end" before its
//       result is handed to the engine, "ack" after the engine's promise resolved.
//   G3. A parent hears of every "begin", so that it can choose its moment.

import { openSync, readFileSync, writeSync } from "node:fs";

/** Work was entered, or is about to hand over its result. */
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
/** The work of this instance ends the process with the next statement (crashers.ts). */
export interface CrashLine {
  readonly what: "crash";
  readonly instance: string;
  readonly pid: number;
  readonly at: number;
}
/** A start by a worker's own client returned. */
export interface AckLine {
  readonly what: "ack";
  readonly instance: string;
  readonly job: number;
  readonly pid: number;
  readonly at: number;
}
/** What the engine logs, kept for whoever has to find out why a run failed. */
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
