// A worker process as its parent sees it: started, observed, killed.

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
    /** The process exited although the demo did not stop it. */
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

  /** SIGKILL: no cleanup, no deregistration. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }
  /** SIGTERM: the worker finishes its current work and hands back the rest. */
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

/** The engine's log line about a takeover, as forwarded by worker.ts. */
function isTakeOver(message: unknown): message is { fields: TakeOver } {
  return (
    typeof message === "object" &&
    message !== null &&
    "message" in message &&
    String(message.message).includes("took over")
  );
}
