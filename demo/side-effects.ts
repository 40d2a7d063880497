// Side effects: the world outside the store. Activities append a line for what they did, and it is on disk before
// they go on: "order activity idempotencyKey attempt pid".

import { existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";

export interface SideEffect {
  readonly order: string;
  readonly activity: string;
  readonly key: string;
  readonly attempt: number;
}
export interface RecordedEffect extends SideEffect {
  readonly pid: number;
}

/** Opens the log for appending; a line is on disk when the function returns. */
export function openEffects(path: string): (effect: SideEffect) => void {
  const file = openSync(path, "a");
  return ({ order, activity, key, attempt }) => {
    writeSync(file, `${order} ${activity} ${key} ${attempt} ${process.pid}\n`);
    fsyncSync(file);
  };
}

/** Everything that has happened so far, oldest first. */
export function readEffects(path: string): readonly RecordedEffect[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [order = "", activity = "", key = "", attempt, pid] = line.split(" ");
    return { order, activity, key, attempt: Number(attempt), pid: Number(pid) };
  });
}
