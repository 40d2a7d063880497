// A worker that is replaced by a new one whenever its code changes.
//   RL1. The old one leaves before the new one starts, so that one version of the code runs at a time.
//   RL2. A worker that ends by itself, or does not load, is told; the next change brings a new one.

import type { LogSink } from "../../core/log.ts";
import type { Interruption } from "../interrupt.ts";
import { WorkerProcess } from "../worker/worker-process.ts";
import { FileWatch } from "./file-watch.ts";
import { loadedFile, REPORT_FILES } from "./loaded-files.ts";

export interface ReloadingOptions {
  /** Of `perdure worker`. */
  readonly args: readonly string[];
  readonly config: string;
  readonly graceMs: number;
  readonly log: LogSink;
  readonly interruption: Interruption;
}

const BEYOND_GRACE_MS = 2_000;

export async function runReloading(options: ReloadingOptions): Promise<void> {
  const { args, config, log, interruption } = options;
  using files = new FileWatch();
  files.add(config);
  const onMessage = (message: unknown): void => {
    const file = loadedFile(message);
    if (file !== undefined) files.add(file);
  };
  const patienceMs = options.graceMs + BEYOND_GRACE_MS;
  const stopped = interruption.came.then(() => "stop" as const);
  for (;;) {
    const changed = files.next();
    const worker = new WorkerProcess(args, { env: { [REPORT_FILES]: "1" }, onMessage });
    const killed = (): void => worker.kill();
    process.once("exit", killed);
    const ended = worker.exited.then(() => "ended" as const);
    const first = await Promise.race([ended, changed, stopped]);
    if (first === "ended" && !interruption.signal.aborted) {
      const { code, signal } = await worker.exited;
      log("error", "the worker ended; the next change of its code starts it again", {
        code,
        signal,
      });
    }
    const file = await Promise.race([changed, stopped]);
    if (!interruption.signal.aborted) log("info", `${file} changed: reloading`, {});
    await worker.leaveWithin(patienceMs);
    process.off("exit", killed);
    if (interruption.signal.aborted) return;
  }
}
