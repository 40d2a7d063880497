// The context that user code receives in one attempt, and the description that it shows.
//   - The abort signal is created on first access. An earlier abort is remembered and applied then.
//   - The members are bound, so that user code can destructure the context.
//   - Most activities use few members. So each member, and the description, is created on first access.

import type {
  ActivityClient,
  ActivityContext,
  ActivityInfo,
  StepContext,
  StreamWriter,
} from "../context/activity-context.ts";
import type { ContextValues, ServiceValues } from "../context/app-types.ts";
import type { WorkFrame } from "../context/async-context.ts";
import type { AnyStream, StreamWritten } from "../define/stream.ts";
import type { CallbackAddress } from "../define/callback.ts";
import { laterUnconfigured } from "./later.ts";
import type { LeasedTask } from "../provider/tasks.ts";
import { attemptFields, type LoggedAttempt } from "../telemetry/log-fields.ts";
import { type Logger, type LogSink, makeLogger } from "../telemetry/log.ts";
import type { Environment } from "../time/environment.ts";
import type { Codec } from "../values/codec.ts";
import type { NodeMetadata } from "../history/events.ts";
import { writeStream, type StreamSink } from "./stream-writer.ts";

/** What an attempt executes. Its context and its log lines show it. */
export interface AttemptDescription extends LoggedAttempt {
  /** The same for all attempts of one call. */
  readonly key: string;
}

/** The call that an attempt executes. A leased task has all of these members; a step only the first ones. */
export type AttemptedCall = Pick<
  LeasedTask,
  "instanceId" | "runId" | "execution" | "orchestration" | "orchestrationVersion"
> &
  Pick<LeasedTask, "name" | "sequence" | "priority"> &
  Partial<Pick<LeasedTask, "tags" | "session" | "options">>;

/** The description of an attempt in this process. */
export class DescribedAttempt implements AttemptDescription {
  readonly kind: AttemptDescription["kind"];
  readonly attempt: number;
  readonly #call: AttemptedCall;
  readonly #worker: string;
  #info: ActivityInfo | null = null;

  constructor(
    kind: AttemptDescription["kind"],
    call: AttemptedCall,
    { attempt, worker }: { readonly attempt: number; readonly worker: string },
  ) {
    this.kind = kind;
    this.attempt = attempt;
    this.#call = call;
    this.#worker = worker;
  }

  get key(): string {
    const { runId, execution, sequence, options } = this.#call;
    return `${runId}:${options?.keyExecution ?? execution}:${sequence}`;
  }

  get info(): ActivityInfo {
    this.#info ??= infoOf(this.#call, this.#worker);
    return this.#info;
  }

  /** The frame in which the user code of the attempt runs. */
  get frame(): WorkFrame {
    const { name, instanceId } = this.#call;
    return { kind: this.kind, name, instanceId };
  }
}

function infoOf(call: AttemptedCall, worker: string): ActivityInfo {
  return {
    instanceId: call.instanceId,
    executionId: call.execution,
    orchestration: call.orchestration,
    orchestrationVersion: call.orchestrationVersion,
    activity: call.name,
    sequence: call.sequence,
    worker,
    priority: call.priority,
    tags: call.tags ?? [],
    session: call.session ?? undefined,
    ...nodeInfo(call.options ?? null),
  };
}

/** The context of a step, which is also the common part of an activity's, and the means to abort it. */
export class Attempt implements StepContext {
  readonly attempt: number;
  readonly context: ContextValues;
  readonly #description: AttemptDescription;
  readonly #services: AttemptServices;
  readonly #logged: LogSink | null;
  #controller: AbortController | null = null;
  #reason: Error | undefined = undefined;
  #log: Logger | null = null;

  /** `logged` also receives the lines of `log`. */
  constructor(
    description: AttemptDescription,
    context: ContextValues,
    services: AttemptServices,
    logged: LogSink | null = null,
  ) {
    this.attempt = description.attempt;
    this.context = context;
    this.#description = description;
    this.#services = services;
    this.#logged = logged;
  }

  get services(): ServiceValues {
    return this.#services.services;
  }

  get idempotencyKey(): string {
    return this.#description.key;
  }

  get info(): ActivityInfo {
    return this.#description.info;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    this.#log ??= makeLogger(
      both(this.#services.log, this.#logged),
      attemptFields(this.#description),
    );
    return this.#log;
  }

  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
  }
}

/** What an activity reports while it runs, as encoded texts. */
export interface ActivityReports {
  /** Null: the activity is alive and gave no details to store. */
  heartbeat(details: string | null): void;
  progress(value: string): void;
}

/** What all attempts of a process or thread share. */
export interface AttemptServices {
  readonly log: LogSink;
  /** The services of the application. */
  readonly services: ServiceValues;
}
/** What all activities of a process or thread share. */
export interface ActivityServices extends AttemptServices {
  readonly codec: Codec;
  readonly client: ActivityClient;
  readonly host: ActivityHost;
}

/** What runs the activities: one object per runtime. Activities that work together (src/batch) share state per host. */
export interface ActivityHost {
  readonly environment: Pick<Environment, "setTimer" | "idleWhile">;
  /** Aborted when the runtime shuts down. Running attempts may end within the grace period. */
  readonly stopping: AbortSignal;
}

/** The services behind the context of an activity. */
export function servicesOf(context: ActivityContext): ActivityServices {
  return ActivityAttempt.servicesOf(context);
}

/** The parts of an attempt that belong to an activity alone. */
export interface OwnOfActivity {
  readonly context: ContextValues;
  /** The encoded details of the last heartbeat of an earlier attempt. */
  readonly lastHeartbeat: string | null;
  readonly reports: ActivityReports;
  /** Creates what it returns on the first call, because most activities write to no stream. */
  readonly streams: () => StreamSink;
  /** Also receives the lines of the activity's log. Null: the runtime keeps no stream of log lines. */
  readonly logged: LogSink | null;
  /** The address that completes the call; null: without settings of callbacks. */
  readonly later: (() => CallbackAddress) | null;
}

/** The context of an activity. A value that cannot be stored is refused at the call. */
export class ActivityAttempt extends Attempt implements ActivityContext {
  readonly #services: ActivityServices;
  readonly #own: OwnOfActivity;

  constructor(description: AttemptDescription, services: ActivityServices, own: OwnOfActivity) {
    super(description, own.context, services, own.logged);
    this.#services = services;
    this.#own = own;
  }

  static servicesOf(context: object): ActivityServices {
    if (#services in context) return context.#services;
    throw new Error("The engine did not create this context.");
  }

  get heartbeat(): (details?: unknown) => void {
    const { reports } = this.#own;
    const { codec } = this.#services;
    return (details) => reports.heartbeat(details === undefined ? null : codec.encode(details));
  }

  get progress(): (value: unknown) => void {
    const { reports } = this.#own;
    const { codec } = this.#services;
    return (value) => reports.progress(codec.encode(value));
  }

  get stream(): <S extends AnyStream | string>(stream: S) => StreamWriter<StreamWritten<S>> {
    const { streams } = this.#own;
    const { codec } = this.#services;
    return (stream) => writeStream(stream, streams(), codec);
  }

  /** Whether `completeLater` was called: with an address, or without settings. */
  later: "deferred" | "unconfigured" | null = null;

  get completeLater(): () => CallbackAddress {
    return () => {
      const { later } = this.#own;
      this.later = later === null ? "unconfigured" : "deferred";
      if (later === null) throw laterUnconfigured();
      return later();
    };
  }

  get client(): ActivityClient {
    return this.#services.client;
  }

  get lastHeartbeat(): unknown {
    const text = this.#own.lastHeartbeat;
    return text === null ? undefined : this.#services.codec.decode(text);
  }
}

function both(sink: LogSink, other: LogSink | null): LogSink {
  if (other === null) return sink;
  return (level, message, fields) => {
    sink(level, message, fields);
    other(level, message, fields);
  };
}

/** Empty for an activity that an orchestration called outside of a flow. */
function nodeInfo(
  asked: { readonly node?: string; readonly metadata?: NodeMetadata } | null,
): Pick<ActivityInfo, "flow"> {
  if (asked?.node === undefined) return {};
  const { node, metadata } = asked;
  return { flow: { node, metadata: metadata?.node, flowMetadata: metadata?.flow } };
}
