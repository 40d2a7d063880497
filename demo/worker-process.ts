// A worker process, seen from its parent: started, heard, killed.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";

export interface TakeOver {
  readonly instances: number;
  readonly tasks: number;
}

export class WorkerProcess {
  readonly pid: number;
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;

  constructor(options: {
    readonly args: readonly string[];
    readonly onTakeOver: (what: TakeOver) => void;
    /** It ended, and nobody here had asked it to. */
    readonly onCrash: (worker: WorkerProcess) => void;
  }) {
    this.#child = fork(new URL("./worker.ts", import.meta.url), options.args, { execArgv: [] });
    this.pid = this.#child.pid ?? 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#child.on("message", (message) => {
      if (message === "ready") resolve();
      else if (isTakeOver(message)) options.onTakeOver(message.fields);
    });
    this.#child.once("exit", () => {
      if (!this.#child.killed) options.onCrash(this);
    });
  }

  /** SIGKILL: no clean-up, no last words. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }
  /** SIGTERM: it finishes what it is doing and hands back the rest. */
  leave(): Promise<void> {
    return this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.kill(signal);
    await exit;
  }
}

/** The engine's log line about a take-over, as worker.ts passes it on. */
function isTakeOver(message: unknown): message is { fields: TakeOver } {
  return (
    typeof message === "object" &&
    message !== null &&
    "message" in message &&
    String(message.message).includes("took over")
  );
}
