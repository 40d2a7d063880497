// Side effects: the world outside the store. An activity appends a line for each effect, which is on disk before the
// activity continues: "order activity idempotencyKey attempt pid".

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

/** All effects so far, oldest first. */
export function readEffects(path: string): readonly RecordedEffect[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [order = "", activity = "", key = "", attempt, pid] = line.split(" ");
    return { order, activity, key, attempt: Number(attempt), pid: Number(pid) };
  });
}
