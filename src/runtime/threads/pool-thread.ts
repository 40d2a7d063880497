// One activity thread, as the runtime sees it.
//   - States: starting → idle ⇄ busy → gone. It gets an attempt only while idle, one at a time, so that
//     its death affects only that attempt.
//   - Once it has reported whether it is usable, it does not keep the process alive. Its end raises no
//     event in the process.
//   - Its messages are handled in the root async context, because a thread belongs to no particular
//     request.

import { Worker } from "node:worker_threads";
import type { ActivityReports } from "../../core/attempts/attempt-context.ts";
import type { StreamSink } from "../../core/attempts/stream-writer.ts";
import type { ActivityResult } from "../../core/attempts/run-attempt.ts";
import { inRootContext } from "../../core/context/async-context.ts";
import type { CallbackSettings } from "../../core/define/callback.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { toFailure } from "../../core/errors/failure.ts";
import { defined } from "../../core/values/defined.ts";
import type { Limits } from "../../core/values/limits.ts";
import type { LogSink } from "../../core/telemetry/log.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { newLogMemory, receiveLine } from "./thread-log.ts";
import type { AttemptOrder, FromThread, Ready, ThreadData, ToThread } from "./thread-messages.ts";
import { ThreadStoreHost } from "./thread-store-host.ts";

/** An attempt to run in a thread. */
export interface ThreadJob {
  readonly order: AttemptOrder;
  readonly reports: ActivityReports;
  readonly streams: () => StreamSink;
  /** Called when a thread is about to enter the attempt. */
  readonly entered: () => void;
  readonly ended: (result: ActivityResult) => void;
}

/** What all threads of a runtime are created with. */
export interface ThreadResources {
  /** The entry file of a thread, which creates the client (src/activity-thread.ts). */
  readonly entry: URL;
  readonly provider: Provider;
  readonly limits: Limits;
  readonly keepFor: number;
  readonly callbacks?: CallbackSettings;
  readonly log: LogSink;
  readonly logToStream: boolean;
}

export interface PoolThreadOptions extends ThreadResources {
  readonly module: string;
  readonly memoryMb: number | null;
  /** Called when it can take the next attempt. */
  readonly onIdle: (thread: PoolThread) => void;
  /** Called when the thread is gone. `job`: the attempt that it was running, if any. */
  readonly onGone: (thread: PoolThread, why: string, job: ThreadJob | null) => void;
}

export class PoolThread {
  /** Rejects with the reason if the thread is not usable. */
  readonly ready: Promise<Ready>;
  readonly #deps: PoolThreadOptions;
  readonly #worker: Worker;
  readonly #host: ThreadStoreHost;
  readonly #logMemory = newLogMemory();
  readonly #readiness = Promise.withResolvers<Ready>();
  #current: { readonly id: number; readonly job: ThreadJob } | null = null;
  #lastId = 0;
  #error: string | null = null;

  constructor(options: PoolThreadOptions) {
    this.#deps = options;
    this.ready = this.#readiness.promise;
    this.ready.catch(() => undefined); // onGone reports a thread that ends before it is ready
    this.#host = new ThreadStoreHost(options.provider, (message) => this.#post(message));
    this.#worker = inRootContext(() => this.#make());
  }

  #make(): Worker {
    const { entry, module, limits, keepFor, callbacks, logToStream, provider, memoryMb } =
      this.#deps;
    const { name, durability } = provider;
    const store = { name, durability };
    const logMemory = this.#logMemory;
    const given = { module, limits, keepFor, logToStream, store, logMemory };
    const workerData: ThreadData = { ...given, ...defined({ callbacks }) };
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
    job.entered();
    this.#post({ kind: "run", id, order: job.order, storeNow: this.#deps.provider.now() });
  }

  runs(job: ThreadJob): boolean {
    return this.#current?.job === job;
  }

  abort(reason: Error): void {
    if (this.#current === null) return;
    const text = JSON.stringify(toFailure(reason));
    this.#post({ kind: "abort", id: this.#current.id, reason: text });
  }

  /** Terminates the thread, even while it runs code. */
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
        return this.#readiness.resolve(message);
      case "unusable":
        this.#error = message.why;
        return this.#readiness.reject(new Error(message.why));
      case "ended":
        return this.#ended(message.id, message.result);
      case "heartbeat":
        if (this.#current?.id === message.id) this.#current.job.reports.heartbeat(message.details);
        return;
      case "progress":
        if (this.#current?.id === message.id) this.#current.job.reports.progress(message.value);
        return;
      case "append":
      case "flush":
        return void this.#write(message);
      case "log":
        return receiveLine(this.#logMemory, message, this.#deps.log);
      case "call":
        return void this.#host.call(message);
      case "listen":
        return this.#host.listen(message.on);
      case "handled":
        return this.#host.handled();
    }
  }

  /** Answers when the attempt may write more, or when its values are in the store. */
  async #write(message: Extract<FromThread, { kind: "append" | "flush" }>): Promise<void> {
    const { id, number, stream } = message;
    const current = this.#current;
    let failure: string | null = null;
    try {
      if (current?.id !== id) throw new PerdureError("LEASE_LOST", "The attempt is over.");
      const streams = current.job.streams();
      if (message.kind === "flush") await streams.flush(stream);
      else await streams.append(stream, message.value);
    } catch (error) {
      failure = JSON.stringify(toFailure(error));
    }
    this.#post({ kind: "written", number, failure });
  }

  #ended(id: number, result: string): void {
    const current = this.#current;
    if (current?.id !== id) return;
    this.#current = null;
    current.job.ended(JSON.parse(result) as ActivityResult); // written by thread-main.ts
    this.#deps.onIdle(this);
  }

  #gone(why: string): void {
    this.#host.close();
    const job = this.#current?.job ?? null;
    this.#current = null;
    this.#readiness.reject(new Error(why));
    this.#deps.onGone(this, why, job);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
