// Worker processes: started, killed, stopped, and none left behind.
//   F1. A process is "ready" when it said so, and "gone" when the system has reported its end.
//   F2. A process that ended without being killed is an error for the caller that waits for it or kills it, unless its
//       work may end it and it ended in a way that crashing work does.

import { fork, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { RuntimeOptions } from "../../src/index.ts";

const STARTUP_MS = 60_000;
/** The exit code of a process that its work ended. */
export const CRASH_CODE = 86;

export interface WorkerOptions {
  readonly program: URL;
  /** Its first argument: a file or an address, as the program wants it. */
  readonly store: string;
  readonly log: string;
  readonly runtime?: RuntimeOptions;
  readonly extra?: readonly string[];
  /** It loads what it needs and waits for `go`; only then its time to be ready begins. */
  readonly isSpare?: boolean;
  /** Its work may end it, with CRASH_CODE or by SIGKILL. */
  readonly mayCrash?: boolean;
}

export class WorkerProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #mayCrash: boolean;
  readonly #ready = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  #killed = false;
  #isReady = false;
  #begun = 0;
  #late: NodeJS.Timeout | undefined;

  constructor(options: WorkerOptions) {
    const { program, store, log, runtime = {}, extra = [], isSpare = false } = options;
    this.#mayCrash = options.mayCrash ?? false;
    const args = [store, log, JSON.stringify(runtime), ...extra];
    const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
    // A process that dies young should not spend its life on compiling.
    const env = { ...process.env, NODE_COMPILE_CACHE: `${log}-compiled` };
    this.#child = fork(program, args, { execArgv: [], stdio: [...stdio], env });
    this.pid = this.#child.pid ?? 0;
    this.#ready.promise.catch(() => undefined); // for whoever waits; nobody has to
    if (!isSpare) this.#expectReady();
    this.#child.on("message", (message) => {
      if (message === "begin") this.#begun++;
      if (message !== "ready") return;
      clearTimeout(this.#late);
      this.#isReady = true;
      this.#ready.resolve();
    });
    this.#child.once("exit", () => {
      clearTimeout(this.#late);
      if (this.#killed || this.hasCrashed) this.#ready.resolve();
      else this.#ready.reject(this.#endedByItself());
      this.#gone.resolve();
    });
  }

  /** Resolves when it takes work, or its life ended before it did. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }
  get isReady(): boolean {
    return this.#isReady;
  }
  /** Resolves when the process is gone. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }
  /** Whether its work has ended it. */
  get hasCrashed(): boolean {
    const { exitCode, signalCode } = this.#child;
    const isCrash = exitCode === CRASH_CODE || signalCode === "SIGKILL";
    return this.#mayCrash && !this.#killed && isCrash;
  }
  /** How many pieces of work it has said to have begun (run-log.ts). */
  get begun(): number {
    return this.#begun;
  }

  /** SIGKILL: no clean-up, no last words. */
  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (this.hasCrashed) return;
    if (!this.#killed && (exitCode !== null || signalCode !== null)) throw this.#endedByItself();
    this.#killed = true;
    this.#child.kill("SIGKILL");
    await this.#gone.promise;
  }
  /** SIGSTOP: it stands still and is not dead. Resolves when the system says so, where it does. */
  async stop(): Promise<void> {
    this.#child.kill("SIGSTOP");
    if (!existsSync("/proc/self/stat")) return;
    const isStopped = (): boolean =>
      /\) [Tt] /.test(readFileSync(`/proc/${this.pid}/stat`, "utf8"));
    await until(`worker ${this.pid} stopped`, isStopped, STARTUP_MS);
  }
  /** SIGCONT: it goes on as if no time had passed. */
  resume(): void {
    this.#child.kill("SIGCONT");
  }
  say(message: string): void {
    this.#child.send(message);
  }
  /** Begins the life of a spare; "idle": it takes work and starts none itself. */
  go(how: "go" | "idle" = "go"): void {
    this.#expectReady();
    this.say(how);
  }

  #expectReady(): void {
    const late = new Error(`Worker ${this.pid} was not ready in ${STARTUP_MS} ms.`);
    this.#late = setTimeout(() => this.#ready.reject(late), STARTUP_MS);
  }

  #endedByItself(): Error {
    const { exitCode, signalCode } = this.#child;
    const how = exitCode === null ? String(signalCode) : `code ${exitCode}`;
    return new Error(`Worker ${this.pid} ended by itself: ${how}.`);
  }
}

/** Waits until `look` finds something, for at most `withinMs`. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  withinMs: number,
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== false && found !== null && found !== undefined) {
      return found as Exclude<T, false | null | undefined>;
    }
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${what}.`);
    await pause(10);
  }
}
