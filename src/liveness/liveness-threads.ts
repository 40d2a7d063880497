// Liveness threads: send heartbeats from a separate thread, so that a runtime with a busy event loop does
// not look dead.
//   - The thread never keeps the process alive, and its end raises no event in the process.
//   - Times are those of the environment: times measured in the thread are converted to the main thread's
//     clock.
//   - liveness-threads.1: After a suspension of the whole process, the main thread may run before the
//     next heartbeat. So an old last heartbeat does not count as steady.

import { Worker } from "node:worker_threads";
import type { Environment } from "../core/time/environment.ts";
import type { LivenessThread, LivenessThreadOptions } from "../core/provider/runtimes.ts";
import { BeatChannel, clockEpoch, GAP_INTERVALS, processMs } from "./beat-channel.ts";

/** The data of every liveness thread. Its provider may add more. */
export interface LivenessThreadData extends LivenessThreadOptions {
  readonly memory: SharedArrayBuffer;
  /** The epoch of the main thread's clock (beat-channel.2). */
  readonly epochMs: number;
}

/** The running liveness threads of one provider. */
export class LivenessThreads {
  readonly #environment: Environment;
  readonly #stops = new Set<() => Promise<void>>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** `thread`: its file. `data`: what it needs in addition to reach the store. */
  start(thread: URL, options: LivenessThreadOptions, data: object): LivenessThread {
    const { runtimeId, beatMs, stallMs } = options;
    const channel = new BeatChannel();
    channel.lastBeat = processMs(); // the row was just written
    const { memory } = channel;
    const epochMs = clockEpoch();
    const given: LivenessThreadData = { runtimeId, beatMs, stallMs, memory, epochMs };
    const workerData = { ...data, ...given };
    const worker = new Worker(thread, { workerData, name: "perdure-liveness", execArgv: [] });
    worker.unref();
    const environment = this.#environment;
    const skewMs = environment.monotonic() - processMs();
    let stopping = false;
    const stopped = new Promise<void>((resolve) => {
      worker.once("exit", () => {
        channel.steadySince = 0; // without the thread there are no steady heartbeats
        channel.lost ||= !stopping; // without the thread it is unknown whether the row still exists
        this.#stops.delete(stop);
        resolve();
      });
      worker.once("error", () => {}); // "exit" follows
    });
    const stop = (): Promise<void> => {
      stopping = true;
      channel.stop();
      worker.ref(); // until the thread has closed its connection
      return stopped;
    };
    this.#stops.add(stop);
    return {
      turned: () => channel.turned(),
      entering: (what) => channel.entering(what),
      lost: () => channel.lost,
      isSilent: () => processMs() - channel.lastBeat > beatMs * GAP_INTERVALS,
      steadySince: () => {
        const gap = processMs() - channel.lastBeat > beatMs * GAP_INTERVALS; // liveness-threads.1
        return gap || channel.steadySince === 0
          ? environment.monotonic()
          : channel.steadySince + skewMs;
      },
      wasSuspended: (ms) => channel.wasSuspended(ms),
      stop,
    };
  }

  /** Stops all threads. */
  async stop(): Promise<void> {
    await Promise.all([...this.#stops].map((stop) => stop()));
  }
}
