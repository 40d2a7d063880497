// A supervisor: so many worker processes, each replaced when it dies.
//   SV1. A worker that dies is replaced, at once the first time, then after 100 ms · 2ⁿ up to 10 s; one that ran for
//        a minute begins anew.
//   SV2. A worker that ends by itself before it ever was ready, and says that config or store are wrong, would do
//        so again: everything ends with its code.
//   SV3. Told to leave, every worker has its grace and a little more; who is still there then is killed. None
//        outlives its supervisor.

import { setTimeout as pause } from "node:timers/promises";
import type { LogSink } from "../../core/log.ts";
import type { ExitCode } from "../exit-codes.ts";
import { Interruption } from "../interrupt.ts";
import { WorkerProcess, type WorkerExit } from "./worker-process.ts";

const DELAY_MS = 100;
const DELAY_MS_MAX = 10_000;
const STEADY_MS = 60_000;
const BEYOND_GRACE_MS = 5_000;
/** Codes that another try cannot change. */
const HOPELESS: readonly number[] = [2, 5] satisfies ExitCode[];

export interface SupervisorOptions {
  readonly processes: number;
  /** Of each `perdure worker`. */
  readonly args: readonly string[];
  readonly graceMs: number;
  readonly log: LogSink;
}

export async function supervise(options: SupervisorOptions): Promise<ExitCode> {
  using interruption = new Interruption();
  const hopeless = new AbortController();
  const stop = AbortSignal.any([interruption.signal, hopeless.signal]);
  const running = new Set<WorkerProcess>();
  const killAll = (): void => running.forEach((worker) => worker.kill());
  process.once("exit", killAll);
  const places = Array.from({ length: options.processes }, () =>
    keepPlace(options, running, stop, (code) => hopeless.abort(code)),
  );
  stop.addEventListener("abort", () => {
    running.forEach((worker) => worker.leave());
    setTimeout(killAll, options.graceMs + BEYOND_GRACE_MS).unref();
  });
  await Promise.all(places);
  process.off("exit", killAll);
  return hopeless.signal.aborted ? (hopeless.signal.reason as ExitCode) : 0; // ours, from above
}

/** One place, filled by one worker after the other. */
async function keepPlace(
  { args, log }: SupervisorOptions,
  running: Set<WorkerProcess>,
  stop: AbortSignal,
  giveUp: (code: ExitCode) => void,
): Promise<void> {
  for (let deaths = 0; !stop.aborted; deaths++) {
    const worker = new WorkerProcess(args);
    running.add(worker);
    const exit = await worker.exited;
    running.delete(worker);
    if (stop.aborted) return;
    if (!worker.wasReady && isHopeless(exit)) return giveUp(exit.code);
    if (performance.now() - worker.startedAt > STEADY_MS) deaths = 0;
    const delayMs = deaths === 0 ? 0 : Math.min(DELAY_MS * 2 ** deaths, DELAY_MS_MAX);
    const { code, signal } = exit;
    log("error", "a worker process ended and is replaced", {
      worker: worker.pid,
      code,
      signal,
      delayMs,
    });
    await pause(delayMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

function isHopeless(exit: WorkerExit): exit is { code: ExitCode & number; signal: null } {
  return exit.code !== null && HOPELESS.includes(exit.code);
}
