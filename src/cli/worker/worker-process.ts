// A worker child process, as its parent controls it.
//   - Signals are sent by process id: on Deno, `kill` of a ChildProcess sends nothing after its first signal.

import { fork, type ChildProcess } from "node:child_process";
import { SUPERVISED } from "../interrupt.ts";
import { MAIN } from "../main-path.ts";
import type { ReadinessAnswer, ReadinessQuestion } from "./run-worker.ts";

const ANSWER_MS = 3_000;
let questions = 0;

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
  readonly #questions = new Map<number, (isReady: boolean) => void>();
  #wasReady = false;
  #isRunning = true;

  /** `args`: the arguments of `perdure worker`. */
  constructor(args: readonly string[], options: WorkerProcessOptions = {}) {
    const { env = {}, onMessage } = options;
    this.#child = fork(MAIN, ["worker", ...args], {
      env: { ...process.env, ...env, [SUPERVISED]: "1" },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#child.on("message", (message) => {
      if (isReady(message)) this.#wasReady = true;
      if (isAnswer(message)) this.#questions.get(message.perdureReadiness)?.(message.isReady);
      onMessage?.(message);
    });
    this.exited = new Promise((resolve) => {
      this.#child.once("exit", (code, signal) => {
        this.#isRunning = false;
        resolve({ code, signal });
      });
      // A process that could not be started emits no exit event.
      this.#child.once("error", () => resolve({ code: 1, signal: null }));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }
  /** Whether the worker has reported that it is ready. */
  get wasReady(): boolean {
    return this.#wasReady;
  }
  /** Asks the worker whether it takes work and its store answers. False if it does not reply in time. */
  async isReady(): Promise<boolean> {
    if (!this.#wasReady || !this.#child.connected) return false;
    const question = (questions += 1);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#questions.set(question, resolve);
    const timer = setTimeout(() => resolve(false), ANSWER_MS);
    const asked: ReadinessQuestion = { perdureReadiness: question };
    this.#child.send(asked, (error) => {
      if (error !== null) resolve(false);
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#questions.delete(question);
    }
  }
  /** Sends SIGTERM: the worker finishes its running work within its grace period and exits. */
  leave(): void {
    this.#signal("SIGTERM");
  }
  kill(): void {
    this.#signal("SIGKILL");
  }
  /** Sends SIGTERM, and SIGKILL if the worker still runs after `ms`. */
  async leaveWithin(ms: number): Promise<void> {
    this.leave();
    const timer = setTimeout(() => this.kill(), ms);
    await this.exited;
    clearTimeout(timer);
  }
  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child; // undefined if it could not be started
    if (pid !== undefined && this.#isRunning) process.kill(pid, signal);
  }
}

function isAnswer(message: unknown): message is ReadinessAnswer {
  return typeof message === "object" && message !== null && "perdureReadiness" in message;
}

function isReady(message: unknown): boolean {
  return typeof message === "object" && message !== null && "perdureWorker" in message;
}
