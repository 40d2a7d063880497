// Disk: the host's calls that put a file on disk. Tests replace them to make the disk slow or to let it fail.

import { fdatasync, fdatasyncSync } from "node:fs";

// Copies from import time: the imported bindings would follow a guard's replacement (guards.3).
const hostSync = fdatasyncSync;
const hostStartSync = fdatasync;

export const disk = {
  /** Blocks the event loop until the file is on disk. */
  sync(descriptor: number): void {
    hostSync(descriptor);
  },
  /** The same on another thread. */
  startSync(descriptor: number, done: (error: Error | null) => void): void {
    hostStartSync(descriptor, done);
  },
};
