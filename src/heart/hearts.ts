// Hearts: beats from a thread of its own, so that a busy main loop does not look dead.
//   H1. The thread never keeps the process alive, and its end is no event of the process.
//   H2. Times are the environment's: what the thread measures is moved onto the main thread's clock.
//   H3. A process that stood still as a whole is awake before its heart has beaten again: a last beat that is long
//       ago vouches for nothing.

import { Worker } from "node:worker_threads";
import type { Environment } from "../core/environment.ts";
import type { Heart, HeartOptions } from "../core/provider/runtimes.ts";
import { GAP_INTERVALS, HeartBoard, processMs } from "./heart-board.ts";

/** What every heart's thread is given, whatever else its provider adds. */
export interface HeartThreadData extends HeartOptions {
  readonly memory: SharedArrayBuffer;
}

/** The hearts that one provider has started and that still beat. */
export class Hearts {
  readonly #environment: Environment;
  readonly #stops = new Set<() => Promise<void>>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** `thread`: its file. `data`: what it needs besides, to reach the store. */
  start(thread: URL, options: HeartOptions, data: object): Heart {
    const { runtimeId, beatMs, stallMs } = options;
    const board = new HeartBoard();
    board.lastBeat = processMs(); // the row was written just now
    const given: HeartThreadData = { runtimeId, beatMs, stallMs, memory: board.memory };
    const workerData = { ...data, ...given };
    const worker = new Worker(thread, { workerData, name: "perdure-heart", execArgv: [] });
    worker.unref();
    const environment = this.#environment;
    const skewMs = environment.monotonic() - processMs();
    let stopping = false;
    const stopped = new Promise<void>((resolve) => {
      worker.once("exit", () => {
        board.steadySince = 0; // a heart that has stopped vouches for nothing
        board.lost ||= !stopping; // and nobody hears any more whether the row is there
        this.#stops.delete(stop);
        resolve();
      });
      worker.once("error", () => {}); // "exit" follows and says the same
    });
    const stop = (): Promise<void> => {
      stopping = true;
      board.stop();
      worker.ref(); // until it has closed its connection
      return stopped;
    };
    this.#stops.add(stop);
    return {
      turned: () => board.turned(),
      entering: (what) => board.entering(what),
      calling: () => board.calling(),
      called: () => board.called(),
      lost: () => board.lost,
      isSilent: () => processMs() - board.lastBeat > beatMs * GAP_INTERVALS,
      steadySince: () => {
        const gap = processMs() - board.lastBeat > beatMs * GAP_INTERVALS; // H3
        return gap || board.steadySince === 0
          ? environment.monotonic()
          : board.steadySince + skewMs;
      },
      wasSuspended: (ms) => board.wasSuspended(ms),
      stop,
    };
  }

  /** Ends them all. */
  async stop(): Promise<void> {
    await Promise.all([...this.#stops].map((stop) => stop()));
  }
}
