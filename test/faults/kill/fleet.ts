// Worker processes: started, killed and stopped; none outlives the test.
//   - A process is "ready" after it reported ready, and "gone" after the system reported its exit.
//   - A process that ended without being killed is an error for the caller that waits for it or kills it. The exception
//       is a process with `mayCrash` that ended in the way crashing work does.

import { fork, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { RuntimeOptions } from "../../../src/index.ts";

const STARTUP_MS = 60_000;
/** The exit code of a process that was ended by its own work. */
export const CRASH_CODE = 86;

export interface WorkerOptions {
  readonly program: URL;
  /** The first argument of the program: a file or an address. */
  readonly store: string;
  readonly log: string;
  readonly runtime?: RuntimeOptions;
  readonly extra?: readonly string[];
  /** The process loads its modules and waits for `go`; its startup timeout begins with `go`. */
  readonly isSpare?: boolean;
  /** The command that runs Node on a program, with its first arguments; by default this Node. */
  readonly command?: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** The work may end the process, with CRASH_CODE or by SIGKILL. */
  readonly mayCrash?: boolean;
  /** Receives the texts that the process sends, except "begin" and "ready". */
  readonly onMessage?: (message: string) => void;
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
    // A short-lived process should not spend its time on compiling.
    const env = { NODE_COMPILE_CACHE: `${log}-compiled`, ...process.env, ...options.env };
    const [execPath, ...execArgv] = options.command ?? [process.execPath];
    this.#child = fork(program, args, { execPath, execArgv, stdio: [...stdio], env });
    this.pid = this.#child.pid ?? 0;
    this.#ready.promise.catch(() => undefined); // a rejection that no caller awaits is not an unhandled rejection
    if (!isSpare) this.#expectReady();
    this.#child.on("message", (message) => {
      if (message === "begin") this.#begun++;
      else if (message !== "ready" && typeof message === "string") options.onMessage?.(message);
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

  /** Resolves when the process takes work, or when it was killed or crashed before that. */
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
  /** Whether the process was ended by its own work. */
  get hasCrashed(): boolean {
    const { exitCode, signalCode } = this.#child;
    const isCrash = exitCode === CRASH_CODE || signalCode === "SIGKILL";
    return this.#mayCrash && !this.#killed && isCrash;
  }
  /** How many runs the process has reported as begun (run-log.ts). */
  get begun(): number {
    return this.#begun;
  }

  /** SIGKILL: no cleanup, no deregistration. */
  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (this.hasCrashed) return;
    if (!this.#killed && (exitCode !== null || signalCode !== null)) throw this.#endedByItself();
    this.#killed = true;
    this.#child.kill("SIGKILL");
    await this.#gone.promise;
  }
  /** SIGSTOP: the process is frozen but alive. Where /proc exists, resolves only after the system reports the stop. */
  async stop(): Promise<void> {
    process.kill(this.pid, "SIGSTOP"); // on Deno, `kill` of a ChildProcess counts every signal as its end
    if (!existsSync("/proc/self/stat")) return;
    const isStopped = (): boolean =>
      /\) [Tt] /.test(readFileSync(`/proc/${this.pid}/stat`, "utf8"));
    await until(`worker ${this.pid} stopped`, isStopped, STARTUP_MS);
  }
  /** SIGCONT: the process continues as if no time had passed. */
  resume(): void {
    process.kill(this.pid, "SIGCONT");
  }
  say(message: string): void {
    this.#child.send(message);
  }
  /** Lets a spare begin; with "idle" the worker takes work, but starts no jobs. */
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
