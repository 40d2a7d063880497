// A folder for stores of tests, in memory if the machine has a large enough file system there: tests open thousands of
// stores, and each commit waits for the disk.

import { chmodSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const IN_MEMORY = "/dev/shm";
const FREE_BYTES_MIN = 4 * 1024 ** 3;

export function fastDirectory(): string {
  return hasCapacity() ? IN_MEMORY : tmpdir();
}

/** A new folder in `fastDirectory`. It is removed when this process ends. */
export function fastTemporaryDirectory(): string {
  const directory = mkdtempSync(join(fastDirectory(), "perdure-tests-"));
  chmodSync(directory, 0o1777); // like a system's folder: PostgreSQL runs as another user
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** In containers this file system often has only 64 MB. */
function hasCapacity(): boolean {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize >= FREE_BYTES_MIN;
  } catch {
    return false;
  }
}
