// One activity thread, from the runtime's side.
//   PT1. starting → idle ⇄ busy → gone. It is given an attempt only while idle, one at a time, so that its death is
//        the death of that attempt and of no other.
//   PT2. Once it has said whether it can be used it keeps no process alive; its end is no event of the process.
//   PT3. What it says is heard in the root context: a thread belongs to nobody's request.

import { Worker } from "node:worker_threads";
import { inRootContext } from "../core/async-context.ts";
import { toFailure } from "../core/failure.ts";
import type { Limits } from "../core/limits.ts";
import type { LogSink } from "../core/log.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { ActivityResult, ActivityVoice } from "./activity-run.ts";
import { newLogMemory, receiveLine } from "./thread-log.ts";
import type { AttemptOrder, FromThread, Ready, ThreadData, ToThread } from "./thread-messages.ts";
import { ThreadStoreHost } from "./thread-store-host.ts";

/** An attempt that a thread is to run. */
export interface ThreadJob {
  readonly order: AttemptOrder;
  readonly voice: ActivityVoice;
  readonly ended: (result: ActivityResult) => void;
}

/** What all threads of a runtime are made from. */
export interface ThreadMaking {
  /** The file that a thread begins with: it makes the client (src/activity-thread.ts). */
  readonly entry: URL;
  readonly provider: Provider;
  readonly limits: Limits;
  readonly log: LogSink;
}

export interface PoolThreadOptions extends ThreadMaking {
  readonly module: string;
  readonly memoryMb: number | null;
  /** It can take an attempt again. */
  readonly onIdle: (thread: PoolThread) => void;
  /** It is gone. The job is the one that went with it. */
  readonly onGone: (thread: PoolThread, why: string, job: ThreadJob | null) => void;
}

export class PoolThread {
  /** Rejects with the reason if it cannot be used. */
  readonly ready: Promise<Ready>;
  readonly #o: PoolThreadOptions;
  readonly #worker: Worker;
  readonly #host: ThreadStoreHost;
  readonly #logMemory = newLogMemory();
  readonly #greeting = Promise.withResolvers<Ready>();
  #current: { readonly id: number; readonly job: ThreadJob } | null = null;
  #lastId = 0;
  #error: string | null = null;

  constructor(options: PoolThreadOptions) {
    this.#o = options;
    this.ready = this.#greeting.promise;
    this.ready.catch(() => undefined); // whoever is gone before it was ready is told by onGone, too
    this.#host = new ThreadStoreHost(options.provider, (message) => this.#post(message));
    this.#worker = inRootContext(() => this.#make());
  }

  #make(): Worker {
    const { entry, module, limits, provider, memoryMb } = this.#o;
    const { name, durability } = provider;
    const store = { name, durability };
    const workerData: ThreadData = { module, limits, store, logMemory: this.#logMemory };
    const resourceLimits = memoryMb === null ? {} : { maxOldGenerationSizeMb: memoryMb };
    const worker = new Worker(entry, { workerData, resourceLimits, name: "perdure-activities" });
    worker.on("message", (message: FromThread) => this.#receive(message));
    worker.once("error", (error) => (this.#error = describe(error)));
    worker.once("exit", (code) => this.#gone(this.#error ?? `it ended with exit code ${code}`));
    return worker;
  }

  run(job: ThreadJob): void {
    const id = ++this.#lastId;
    this.#current = { id, job };
    this.#post({ kind: "run", id, order: job.order, storeNow: this.#o.provider.now() });
  }

  runs(job: ThreadJob): boolean {
    return this.#current?.job === job;
  }

  abort(reason: Error): void {
    if (this.#current === null) return;
    const text = JSON.stringify(toFailure(reason));
    this.#post({ kind: "abort", id: this.#current.id, reason: text });
  }

  /** Ends it, whatever it does. */
  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case "ready":
        this.#worker.unref();
        return this.#greeting.resolve(message);
      case "unusable":
        this.#error = message.why;
        return this.#greeting.reject(new Error(message.why));
      case "ended":
        return this.#ended(message.id, message.result);
      case "heartbeat":
        if (this.#current?.id === message.id) this.#current.job.voice.heartbeat(message.details);
        return;
      case "progress":
        if (this.#current?.id === message.id) this.#current.job.voice.progress(message.value);
        return;
      case "log":
        return receiveLine(this.#logMemory, message, this.#o.log);
      case "call":
        return void this.#host.call(message);
      case "listen":
        return this.#host.listen(message.on);
      case "heard":
        return this.#host.heard();
    }
  }

  #ended(id: number, result: string): void {
    const current = this.#current;
    if (current?.id !== id) return;
    this.#current = null;
    current.job.ended(JSON.parse(result) as ActivityResult); // written by thread-main.ts
    this.#o.onIdle(this);
  }

  #gone(why: string): void {
    this.#host.close();
    const job = this.#current?.job ?? null;
    this.#current = null;
    this.#greeting.reject(new Error(why));
    this.#o.onGone(this, why, job);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
