// Heart: beats from a thread of its own, so that a busy main loop does not look dead.
//   H1. The thread never keeps the process alive, and its end is no event of the process.
//   H2. Times are the environment's: what the thread measures is moved onto the main thread's clock.
//   H3. A process that stood still as a whole is awake before its heart has beaten again: a last beat that is long
//       ago vouches for nothing.

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type pg from "pg";
import type { Environment } from "../core/environment.ts";
import type { Heart, HeartOptions } from "../core/provider/runtimes.ts";
import { GAP_INTERVALS, HeartBoard, processMs } from "./heart-board.ts";

/** What the thread is given. */
export interface HeartThreadData {
  readonly config: pg.ClientConfig;
  /** As it stands in statements. */
  readonly schema: string;
  readonly runtimeId: string;
  readonly beatMs: number;
  readonly stallMs: number;
  readonly memory: SharedArrayBuffer;
}

export interface RunningHeart extends Heart {
  /** Resolves when the thread has ended, for whatever reason. */
  readonly stopped: Promise<void>;
}

// The sources run as they are (.ts), the package as built (.js); the thread's file is beside this one in both.
const THREAD = new URL(`./heart-thread${extname(import.meta.url)}`, import.meta.url);

export function startHeart(
  options: HeartOptions & {
    readonly config: pg.ClientConfig;
    readonly schema: string;
    readonly environment: Environment;
  },
): RunningHeart {
  const { environment, ...given } = options;
  const { beatMs } = options;
  const board = new HeartBoard();
  const workerData: HeartThreadData = { ...given, memory: board.memory };
  const worker = new Worker(THREAD, { workerData, name: "perdure-heart", execArgv: [] });
  worker.unref();
  const skewMs = environment.monotonic() - processMs();
  let stopping = false;
  const stopped = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      board.steadySince = 0; // a heart that has stopped vouches for nothing
      board.lost ||= !stopping; // and nobody hears any more whether the row is there
      resolve();
    });
    worker.once("error", () => {}); // "exit" follows and says the same
  });
  return {
    turned: () => board.turned(),
    entering: (what) => board.entering(what),
    calling: () => board.calling(),
    called: () => board.called(),
    lost: () => board.lost,
    steadySince: () => {
      const gap = processMs() - board.lastBeat > beatMs * GAP_INTERVALS; // H3
      return gap || board.steadySince === 0 ? environment.monotonic() : board.steadySince + skewMs;
    },
    stopped,
    stop: () => {
      stopping = true;
      board.stop();
      worker.ref(); // until it has closed its connection
      return stopped;
    },
  };
}
