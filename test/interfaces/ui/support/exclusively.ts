// A lock between the processes of the test run: one process works while the others wait.
//   - The lock is a write transaction on a SQLite file. The system releases it when its process ends, and a process can
//        never release the lock of another.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";

const LOOK_AGAIN_MS = 50;

export async function exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
  using lock = new DatabaseSync(join(tmpdir(), `perdure-${name}.lock.db`));
  while (!take(lock)) await pause(LOOK_AGAIN_MS);
  return await work();
}

function take(lock: DatabaseSync): boolean {
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes("locked")) return false;
    throw error;
  }
}
