// Work that only one process of the test run may do at a time, while the others wait for it.
//   EX1. The holder's pid is in the lock, so that a lock whose holder died is nobody's.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const LOOK_AGAIN_MS = 50;

export async function exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
  const lock = join(tmpdir(), `perdure-${name}.lock`);
  while (!take(lock)) await pause(LOOK_AGAIN_MS);
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function take(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    if (!isHeld(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function isHeld(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, "utf8"));
    if (pid === 0) return true; // just made, not yet written
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
