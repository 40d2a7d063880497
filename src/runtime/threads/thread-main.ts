// The inside of an activity thread: loads its module and runs the attempts it receives, one at a time.
//   - It reports which activities it can run before it gets any. If its module is not usable, it reports
//     why.
//   - An attempt is entered, aborted, timed and recorded as in the process. Its context sends messages to
//     the runtime.
//   - An error that user code throws outside its promise ends the thread, as it would end a process. An
//     unhandled rejection is logged, as in the process (rejections.ts).

import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { ActivityAttempt, type ActivityServices } from "../../core/attempts/attempt-context.ts";
import { callActivity, decodeCall } from "../../core/attempts/call-activity.ts";
import { laterResult } from "../../core/attempts/later.ts";
import type { ServiceValues } from "../../core/context/app-types.ts";
import { openServices, SERVICES_OF_THREAD } from "../../core/context/services.ts";
import { NO_CONTEXT } from "../../core/context/start-context.ts";
import { layersOf, type Layers, type Middleware } from "../../core/middleware/middleware.ts";
import { type ActivityResult, runAttempt } from "../../core/attempts/run-attempt.ts";
import { type Codec, defaultCodec } from "../../core/values/codec.ts";
import { isActivity, type Activity } from "../../core/define/definitions.ts";
import { type Failure, fromFailure } from "../../core/errors/failure.ts";
import { limitedCodec } from "../../core/values/limited-codec.ts";
import { defined } from "../../core/values/defined.ts";
import { systemEnvironment } from "../../core/time/system-environment.ts";
import { watchRejections } from "../guards/rejections.ts";
import { streamedLog } from "../streams/log-lines.ts";
import { lineSender } from "./thread-log.ts";
import type { AttemptOrder, FromThread, ThreadData, ToThread } from "./thread-messages.ts";
import { ThreadStore } from "./thread-store.ts";
import { ThreadReports } from "./thread-reports.ts";
import { ThreadStreams } from "./thread-streams.ts";
import type { MakeClient } from "../wiring.ts";
import { missingFileHint } from "./missing-file.ts";
import { errorMessage } from "../../core/errors/errors.ts";

/** Serves until the runtime terminates the thread. */
export async function serveThread(makeClient: MakeClient): Promise<void> {
  if (parentPort === null) throw new Error("This file must run in a thread of a runtime.");
  const data = workerData as ThreadData; // given by pool-thread.ts
  const port = parentPort;
  const loaded = await loadActivities(data.module);
  if (typeof loaded === "string") {
    port.postMessage({ kind: "unusable", why: loaded } satisfies FromThread);
    return;
  }
  new ActivityServer(port, data, loaded, makeClient).serve();
}

class ActivityServer {
  readonly #port: MessagePort;
  readonly #loaded: LoadedModule;
  readonly #store: ThreadStore;
  readonly #services: ActivityServices;
  readonly #logToStream: boolean;
  #current: {
    readonly id: number;
    readonly attempt: ActivityAttempt;
    readonly streams: ThreadStreams;
  } | null = null;

  constructor(port: MessagePort, data: ThreadData, loaded: LoadedModule, makeClient: MakeClient) {
    const { limits, keepFor, store, logMemory, callbacks, logToStream } = data;
    const codec = loaded.codec ?? defaultCodec;
    const post = (message: FromThread): void => port.postMessage(message);
    this.#port = port;
    this.#loaded = loaded;
    this.#logToStream = logToStream;
    this.#store = new ThreadStore({ store, environment: systemEnvironment, post });
    this.#services = {
      host: { environment: systemEnvironment, stopping: new AbortController().signal },
      log: lineSender(logMemory, post),
      services: loaded.services,
      codec: limitedCodec(codec, limits),
      client: makeClient(this.#store.provider, {
        ...{ codec, limits, telemetry: null, keepFor, middleware: loaded.middleware ?? [] },
        ...defined({ callbacks }),
      }),
    };
  }

  serve(): void {
    watchRejections(this.#services.log);
    this.#port.on("message", (message: ToThread) => this.#receive(message));
    const { activities, codec, middleware } = this.#loaded;
    const has = { hasCodec: codec !== undefined, hasMiddleware: middleware !== undefined };
    this.#post({ kind: "ready", names: [...activities.keys()], ...has });
  }

  #post(message: FromThread): void {
    this.#port.postMessage(message);
  }

  #receive(message: ToThread): void {
    switch (message.kind) {
      case "run":
        this.#store.setStoreTime(message.storeNow);
        void this.#run(message.id, message.order);
        break;
      case "abort":
        if (this.#current?.id !== message.id) break;
        // The runtime wrote it from the error with which it aborts attempts in the process.
        this.#current.attempt.abort(fromFailure(JSON.parse(message.reason) as Failure));
        break;
      case "answer":
      case "refusal":
        this.#store.answer(message);
        break;
      case "written":
        this.#current?.streams.written(message);
        break;
      case "changes":
        this.#store.notify(message.changes);
        break;
    }
  }

  async #run(id: number, order: AttemptOrder): Promise<void> {
    const { name, lastHeartbeat, later: address } = order;
    const { codec } = this.#services;
    const definition = this.#loaded.activities.get(name);
    if (definition === undefined)
      throw new Error(`Internal error: this thread cannot run "${name}".`);
    const reports = new ThreadReports(systemEnvironment, {
      heartbeat: (details) => this.#post({ kind: "heartbeat", id, details }),
      progress: (value) => this.#post({ kind: "progress", id, value }),
    });
    const later = address === null ? null : () => address;
    const streams = new ThreadStreams(id, (message) => this.#post(message));
    const logged = this.#logToStream
      ? streamedLog(
          () => streams,
          codec,
          () => this.#store.provider.now(),
        )
      : null;
    const input = decodeCall(order.input, order.context ?? undefined, codec);
    const given = input.kind === "decoded" ? input.context : NO_CONTEXT;
    const own = { context: given, lastHeartbeat, reports, streams: () => streams, logged, later };
    const context = new ActivityAttempt(order, this.#services, own);
    this.#current = { id, attempt: context, streams };
    const frame = { kind: order.kind, name, instanceId: order.info.instanceId };
    const code = (value: unknown) => ({
      frame,
      fn: () => callActivity(definition, value, context, null, this.#loaded.layers.activity),
      codec,
      ignoresValue: () => context.later === "deferred",
    });
    const result =
      input.kind === "undecodable"
        ? input
        : laterResult(await runAttempt(code(input.value)), context);
    reports.flush();
    this.#current = null;
    this.#post({ kind: "ended", id, result: JSON.stringify(result satisfies ActivityResult) });
  }
}

// The module of a thread pool: its exports are what the threads can run.
//   - Every exported activity counts, also in an exported list. Other exports are ignored.
//   - If the runtime has a custom codec, the module must export it as `codec`.
//   - Functions cannot be sent to a thread. So the module exports the middleware and the services of its activities, as
//     `middleware` and `services`. If the runtime has middleware, the module must export its own, which may be empty.

interface LoadedModule {
  readonly activities: ReadonlyMap<string, Activity<never, unknown>>;
  readonly codec: Codec | undefined;
  readonly services: ServiceValues;
  readonly middleware: readonly Middleware[] | undefined;
  readonly layers: Layers;
}

/** The activities and the codec of the module; or the reason why it is not usable. */
async function loadActivities(module: string): Promise<LoadedModule | string> {
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = (await import(module)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const hint = missingFileHint(error);
    return `it cannot be loaded: ${errorMessage(error)}${hint === undefined ? "" : `. ${hint}`}`;
  }
  const activities = new Map<string, Activity<never, unknown>>();
  for (const definition of Object.values(exported).flat(1).filter(isActivity)) {
    const known = activities.get(definition.name) ?? definition;
    if (known !== definition) return `it exports two activities named "${definition.name}"`;
    activities.set(definition.name, definition);
  }
  const { codec } = exported;
  if (codec !== undefined && !isCodec(codec))
    return `its codec must have the methods encode and decode`;
  try {
    const services = openServices(exported["services"], SERVICES_OF_THREAD);
    const middleware = exported["middleware"] as readonly Middleware[] | undefined; // checked by layersOf
    return { activities, codec, services, middleware, layers: layersOf(middleware) };
  } catch (error) {
    return errorMessage(error);
  }
}

function isCodec(value: unknown): value is Codec {
  if (typeof value !== "object" || value === null) return false;
  const { encode, decode }: { encode?: unknown; decode?: unknown } = value;
  return typeof encode === "function" && typeof decode === "function";
}
