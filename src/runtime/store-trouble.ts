// Trouble with the store: counted each time, told once in a while (P6: it is gone through, not given up).

import type { Environment } from "../core/environment.ts";
import type { LogSink } from "../core/log.ts";
import type { RuntimeStats } from "./stats.ts";

const TOLD_EVERY_MS = 5_000;

export function storeTrouble(options: {
  readonly environment: Environment;
  readonly log: LogSink;
  readonly stats: RuntimeStats;
}): (error: unknown) => void {
  const { environment, log, stats } = options;
  let toldAt = -Infinity;
  return (error) => {
    stats.providerErrors++;
    const now = environment.monotonic();
    if (now - toldAt < TOLD_EVERY_MS) return;
    toldAt = now;
    const message = error instanceof Error ? error.message : String(error);
    log("warn", `the store is in trouble, trying on: ${message}`, {});
  };
}
