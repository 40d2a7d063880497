// Runs a worker process and replaces it when its code changes and when it exits.
//   - The old worker exits before the new one starts, so that only one version of the code runs at a time.
//   - A worker that exits, or cannot load its code, is replaced after a backoff of 1 s · 2ⁿ, at most 30 s,
//        and immediately when a file changes. A change, or a minute of running, resets the backoff.

import { setTimeout as pause } from "node:timers/promises";
import type { LogSink } from "../../core/telemetry/log.ts";
import type { Interruption } from "../interrupt.ts";
import { WorkerProcess } from "../worker/worker-process.ts";
import { FileWatch } from "./file-watch.ts";
import { loadedFile, REPORT_FILES } from "./loaded-files.ts";

export interface ReloadingOptions {
  /** The arguments of `perdure worker`. */
  readonly args: readonly string[];
  readonly config: string;
  readonly graceMs: number;
  readonly log: LogSink;
  readonly interruption: Interruption;
}

const BEYOND_GRACE_MS = 2_000;
const DELAY_MS = 1_000;
const DELAY_MS_MAX = 30_000;
const STEADY_MS = 60_000;

export async function runReloading(options: ReloadingOptions): Promise<void> {
  const { args, config, log, interruption } = options;
  using files = new FileWatch();
  files.add(config);
  const onMessage = (message: unknown): void => {
    const file = loadedFile(message);
    if (file !== undefined) files.add(file);
  };
  const patienceMs = options.graceMs + BEYOND_GRACE_MS;
  const stopped = interruption.received.then(() => undefined);
  let changed = files.next();
  let delayMs = DELAY_MS;
  for (;;) {
    const worker = new WorkerProcess(args, { env: { [REPORT_FILES]: "1" }, onMessage });
    const killed = (): void => worker.kill();
    process.once("exit", killed);
    const ended = worker.exited.then(() => undefined);
    let file = await Promise.race([changed, stopped, ended]);
    if (file === undefined && !interruption.signal.aborted) {
      if (performance.now() - worker.startedAt > STEADY_MS) delayMs = DELAY_MS;
      const { code, signal } = await worker.exited;
      log("error", `the worker exited; restarting in ${delayMs / 1_000} s`, { code, signal });
      file = await within(delayMs, Promise.race([changed, stopped]));
      delayMs = Math.min(delayMs * 2, DELAY_MS_MAX);
    }
    await worker.leaveWithin(patienceMs);
    process.off("exit", killed);
    if (interruption.signal.aborted) return;
    if (file === undefined) continue;
    log("info", `${file} changed: reloading`, {});
    changed = files.next();
    delayMs = DELAY_MS;
  }
}

/** Undefined: the time has passed. */
async function within<Value>(ms: number, value: Promise<Value>): Promise<Value | undefined> {
  const over = new AbortController();
  const time = pause(ms, undefined, { signal: over.signal }).catch(() => undefined);
  const first = await Promise.race([value, time]);
  over.abort();
  return first;
}
