// An activity thread from inside: loads its module, runs the attempts it is sent, one at a time.
//   TI1. It says which activities it can run before it is given any; what is wrong with its module is told in words.
//   TI2. An attempt here is entered, aborted, timed and recorded as in the process; its context reaches the runtime
//        by messages.
//   TI3. What user code throws outside its promise ends the thread, as it would end a process. A promise that is
//        rejected and that nobody waits for is logged, as there (rejections.ts).

import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { defaultCodec } from "../core/codec.ts";
import type { Activity } from "../core/definitions.ts";
import { fromFailure, type Failure } from "../core/failure.ts";
import { limitedCodec } from "../core/limited-codec.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import { callActivity } from "./activity-call.ts";
import {
  ActivityAttempt,
  runAttempt,
  undecodable,
  type ActivityResult,
  type ActivityServices,
} from "./activity-run.ts";
import { watchRejections } from "./rejections.ts";
import { lineSender } from "./thread-log.ts";
import type { AttemptOrder, FromThread, ThreadData, ToThread } from "./thread-messages.ts";
import { loadActivities, type LoadedModule } from "./thread-module.ts";
import { ThreadStore } from "./thread-store.ts";
import { ThreadVoice } from "./thread-voice.ts";
import type { MakeClient } from "./wiring.ts";

/** Serves until the runtime ends the thread. */
export async function serveThread(makeClient: MakeClient): Promise<void> {
  if (parentPort === null) throw new Error("This file runs in a thread of a runtime.");
  const data = workerData as ThreadData; // given by pool-thread.ts
  const port = parentPort;
  const loaded = await loadActivities(data.module);
  if (typeof loaded === "string") {
    port.postMessage({ kind: "unusable", why: loaded } satisfies FromThread);
    return;
  }
  new ActivityServer({ port, data, loaded, makeClient }).serve();
}

interface ServerOptions {
  readonly port: MessagePort;
  readonly data: ThreadData;
  readonly loaded: LoadedModule;
  readonly makeClient: MakeClient;
}

class ActivityServer {
  readonly #port: MessagePort;
  readonly #activities: ReadonlyMap<string, Activity<never, unknown>>;
  readonly #hasCodec: boolean;
  readonly #store: ThreadStore;
  readonly #services: ActivityServices;
  #current: { readonly id: number; readonly attempt: ActivityAttempt } | null = null;

  constructor({ port, data, loaded, makeClient }: ServerOptions) {
    const { limits, store, logMemory } = data;
    const codec = loaded.codec ?? defaultCodec;
    const post = (message: FromThread): void => port.postMessage(message);
    this.#port = port;
    this.#activities = loaded.activities;
    this.#hasCodec = loaded.codec !== undefined;
    this.#store = new ThreadStore({ store, environment: systemEnvironment, post });
    this.#services = {
      log: lineSender(logMemory, post),
      codec: limitedCodec(codec, limits),
      client: makeClient(this.#store.provider, { codec, limits, telemetry: null }),
    };
  }

  serve(): void {
    watchRejections(this.#services.log);
    this.#port.on("message", (message: ToThread) => this.#receive(message));
    this.#post({ kind: "ready", names: [...this.#activities.keys()], hasCodec: this.#hasCodec });
  }

  #post(message: FromThread): void {
    this.#port.postMessage(message);
  }

  #receive(message: ToThread): void {
    switch (message.kind) {
      case "run":
        this.#store.tellTime(message.storeNow);
        void this.#run(message.id, message.order);
        break;
      case "abort":
        if (this.#current?.id !== message.id) break;
        // Written by the runtime from the error that its own attempts would be aborted with.
        this.#current.attempt.abort(fromFailure(JSON.parse(message.reason) as Failure));
        break;
      case "answer":
      case "refusal":
        this.#store.answer(message);
        break;
      case "news":
        this.#store.hear(message.news);
        break;
    }
  }

  async #run(id: number, order: AttemptOrder): Promise<void> {
    const voice = new ThreadVoice(systemEnvironment, {
      heartbeat: (details) => this.#post({ kind: "heartbeat", id, details }),
      progress: (value) => this.#post({ kind: "progress", id, value }),
    });
    const { lastHeartbeat } = order;
    const context = new ActivityAttempt(order, this.#services, { lastHeartbeat, voice });
    this.#current = { id, attempt: context };
    const result = await this.#attempt(order, context);
    voice.flush();
    this.#current = null;
    this.#post({ kind: "ended", id, result: JSON.stringify(result) });
  }

  async #attempt(order: AttemptOrder, context: ActivityAttempt): Promise<ActivityResult> {
    const { name, info } = order;
    const { codec } = this.#services;
    const definition = this.#activities.get(name);
    if (definition === undefined) throw new Error(`This thread was sent "${name}" by mistake.`);
    let input: unknown;
    try {
      input = codec.decode(order.input);
    } catch (error) {
      return undecodable(error);
    }
    return runAttempt({
      frame: { kind: "activity", name, instanceId: info.instanceId },
      fn: () => callActivity(definition, input, context, null),
      codec,
    });
  }
}
