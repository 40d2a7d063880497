// The supervisor of `perdure worker --processes`: keeps a fixed number of worker processes running.
//   - A worker that exits is replaced: immediately the first time, then after a backoff of 100 ms · 2ⁿ, at
//        most 10 s. A minute of running resets the backoff.
//   - A worker that exits before it was ready, with the exit code for an invalid config (2) or for a store
//        that cannot be opened (5), would fail again. The supervisor then stops all workers and exits with
//        that code.
//   - On shutdown every worker has its grace period plus BEYOND_GRACE_MS. Then the supervisor kills it. No
//        worker outlives its supervisor.

import { setTimeout as pause } from "node:timers/promises";
import type { LogSink } from "../../core/telemetry/log.ts";
import type { ExitCode } from "../exit-codes.ts";
import { Interruption } from "../interrupt.ts";
import type { HealthPort } from "./health-port.ts";
import { WorkerProcess, type WorkerExit } from "./worker-process.ts";

const DELAY_MS = 100;
const DELAY_MS_MAX = 10_000;
const STEADY_MS = 60_000;
const BEYOND_GRACE_MS = 5_000;
/** Exit codes of errors that a restart cannot fix: invalid config, store that cannot be opened. */
const PERMANENT: readonly number[] = [2, 5] satisfies ExitCode[];

export interface SupervisorOptions {
  readonly processes: number;
  /** The arguments of each `perdure worker` process. */
  readonly args: readonly string[];
  readonly graceMs: number;
  readonly log: LogSink;
  readonly health: HealthPort;
}

export async function supervise(options: SupervisorOptions): Promise<ExitCode> {
  using interruption = new Interruption();
  const failed = new AbortController();
  const stop = AbortSignal.any([interruption.signal, failed.signal]);
  const running = new Set<WorkerProcess>();
  options.health.reports(async () => {
    if (stop.aborted || running.size < options.processes) return false;
    const ready = await Promise.all([...running].map((worker) => worker.isReady()));
    return ready.every(Boolean);
  });
  const killAll = (): void => running.forEach((worker) => worker.kill());
  process.once("exit", killAll);
  const loops = Array.from({ length: options.processes }, () =>
    keepRunning(options, running, stop, (code) => failed.abort(code)),
  );
  stop.addEventListener("abort", () => {
    running.forEach((worker) => worker.leave());
    setTimeout(killAll, options.graceMs + BEYOND_GRACE_MS).unref();
  });
  await Promise.all(loops);
  process.off("exit", killAll);
  return failed.signal.aborted ? (failed.signal.reason as ExitCode) : 0; // the code passed to abort above
}

/** Runs one worker process after another until `stop` aborts. */
async function keepRunning(
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
    if (!worker.wasReady && isPermanent(exit)) return giveUp(exit.code);
    if (performance.now() - worker.startedAt > STEADY_MS) deaths = 0;
    const delayMs = deaths === 0 ? 0 : Math.min(DELAY_MS * 2 ** deaths, DELAY_MS_MAX);
    const { code, signal } = exit;
    log("error", "a worker process exited; starting another one", {
      worker: worker.pid,
      code,
      signal,
      delayMs,
    });
    await pause(delayMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

function isPermanent(exit: WorkerExit): exit is { code: ExitCode & number; signal: null } {
  return exit.code !== null && PERMANENT.includes(exit.code);
}
