// A worker in a process of its own, seen from its parent.

import { fork, type ChildProcess } from "node:child_process";
import { SUPERVISED } from "../interrupt.ts";
import { MAIN } from "../main-path.ts";

export interface WorkerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface WorkerProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly onMessage?: (message: unknown) => void;
}

export class WorkerProcess {
  readonly startedAt = performance.now();
  readonly exited: Promise<WorkerExit>;
  readonly #child: ChildProcess;
  #wasReady = false;

  /** `args` are those of `perdure worker`. */
  constructor(args: readonly string[], options: WorkerProcessOptions = {}) {
    const { env = {}, onMessage } = options;
    this.#child = fork(MAIN, ["worker", ...args], {
      env: { ...process.env, ...env, [SUPERVISED]: "1" },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#child.on("message", (message) => {
      if (isReady(message)) this.#wasReady = true;
      onMessage?.(message);
    });
    this.exited = new Promise((resolve) => {
      this.#child.once("exit", (code, signal) => resolve({ code, signal }));
      // A process that could not be started has no exit.
      this.#child.once("error", () => resolve({ code: 1, signal: null }));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }
  /** Whether it has ever taken work. */
  get wasReady(): boolean {
    return this.#wasReady;
  }
  /** Asks it to finish what it is doing and leave. */
  leave(): void {
    this.#child.kill("SIGTERM");
  }
  kill(): void {
    this.#child.kill("SIGKILL");
  }
  /** As `leave`, with an end. */
  async leaveWithin(ms: number): Promise<void> {
    this.leave();
    const timer = setTimeout(() => this.kill(), ms);
    await this.exited;
    clearTimeout(timer);
  }
}

function isReady(message: unknown): boolean {
  return typeof message === "object" && message !== null && "perdureWorker" in message;
}
