// The context object that an orchestration receives. It checks arguments and makes calls on the run.

import { attributesOf, type Attributes, type AttributeValue } from "../define/attributes.ts";
import type { StepContext } from "./activity-context.ts";
import {
  activityBody,
  type AnyActivity,
  type AnyOrchestration,
  childBody,
  stepBody,
  timerBody,
} from "./call-bodies.ts";
import { firstOutcome, firstSuccess, joinAll, joinAllSettled, orNull } from "./combinators.ts";
import type {
  CallOptions,
  ContextAskOptions,
  ContextRaiseOptions,
  DetachedOptions,
  KeyValues,
  OrchestrationContext,
  OrchestrationInfo,
  ServeOptions,
  StepOptions,
  Task,
  WaitForOptions,
} from "./types.ts";
import type { CallbackOptions } from "./callback-types.ts";
import type { CallbackDef } from "../define/callback.ts";
import type { EventDef, RunOptions as ActivityRunOptions } from "../define/definitions.ts";
import { type Duration, parseDuration } from "../time/duration.ts";
import { checkEntity, type EntityDef } from "../define/entity.ts";
import type { AnyRequest, ValueDef } from "../define/request.ts";
import { parseName, showValue } from "../ids/ids.ts";
import { ask, getValue, raiseEvent, serve, setValue, startDetached } from "./message-calls.ts";
import { requestLoop, type Handler } from "../replay/requests/request-services.ts";
import type { AnyStream } from "../define/stream.ts";
import { keyValues } from "./key-values.ts";
import { openStream } from "./stream-calls.ts";
import {
  checkChoice,
  checkFlag,
  checkFunction,
  checkMembers,
  invalidArgument,
  type Members,
} from "../checks.ts";
import type { EventSubscribed } from "../history/events.ts";
import { makeLogger, type Logger } from "../telemetry/log.ts";
import { checkPayload } from "../values/limits.ts";
import { CancelledError } from "../errors/outcome-errors.ts";
import { withoutEngineStack } from "../errors/replayed-error.ts";
import {
  callActivity,
  callChild,
  callEvent,
  callStep,
  callTimer,
  callTransaction,
} from "../replay/calls.ts";
import { createCallback } from "../replay/callback-calls.ts";
import { addCompensation } from "../replay/cancel.ts";
import { decodeNow } from "../replay/delivery.ts";
import { runScope, runShield } from "../replay/run-scope.ts";
import { setAttributes, setStatus } from "../replay/run-state-commands.ts";
import type { Run } from "../replay/run.ts";
import { parseVersion } from "../ids/semver.ts";

type ContinueOptions = NonNullable<Parameters<OrchestrationContext["continueAsNew"]>[1]>;
type PatchOptions = NonNullable<Parameters<OrchestrationContext["patched"]>[1]>;

const WAIT_FOR_OPTIONS: Members<WaitForOptions> = {
  timeout: true,
  since: true,
  details: true,
  internal: true,
};
const CONTINUE_OPTIONS: Members<ContinueOptions> = { version: true };
const PATCH_OPTIONS: Members<PatchOptions> = { retired: true };

type AnyEvent = EventDef<unknown, never> | string;

/** The context of a run. */
export function orchestrationContext(run: Run): OrchestrationContext {
  // The signatures of this object accept every overload of the public interface.
  return new Context(run) as unknown as OrchestrationContext;
}

/** The run of a context: the interpreter of flows uses it for calls that the public context does not have. */
export function runOf(context: OrchestrationContext): Run {
  return Context.runOf(context);
}

/**
 * Every member is a getter that returns a function of the run. So `const { run, step } = ctx` works, and a run
 * costs no memory for members that its code does not use.
 */
class Context {
  readonly #run: Run;
  #kv: KeyValues | null = null;
  #log: Logger | null = null;
  #info: Info | null = null;

  constructor(run: Run) {
    this.#run = run;
  }

  static runOf(context: object): Run {
    if (#run in context) return context.#run;
    throw new Error("The engine did not create this context.");
  }

  get run() {
    const run = this.#run;
    return (activity: AnyActivity, input?: unknown, options?: ActivityRunOptions) =>
      callActivity(run, activityBody(run, activity, input, options));
  }
  get step() {
    const run = this.#run;
    return (name: string, fn: (s: StepContext) => unknown, options?: StepOptions) =>
      callStep(run, stepBody(name, fn, options), fn);
  }
  get tx() {
    const run = this.#run;
    return (name: string, fn: (transaction: unknown) => unknown, options?: StepOptions) =>
      callTransaction(run, { ...stepBody(name, fn, options), transaction: true }, fn);
  }
  get call() {
    const run = this.#run;
    return (child: AnyOrchestration, input?: unknown, options: CallOptions = {}) =>
      callChild(run, childBody(run, child, input, options));
  }
  get startDetached() {
    const run = this.#run;
    return (child: AnyOrchestration, input: unknown, options: DetachedOptions) =>
      startDetached(run, child, input, options);
  }
  get raise() {
    const run = this.#run;
    return (id: string, event: AnyEvent, data?: unknown, options: ContextRaiseOptions = {}) =>
      raiseEvent(run, id, event, data, options);
  }
  get ask() {
    const run = this.#run;
    return (
      id: string,
      request: AnyRequest | string,
      input?: unknown,
      options: ContextAskOptions = {},
    ) => ask(run, id, request, input, options);
  }
  get requests() {
    const run = this.#run;
    return (...requests: readonly (AnyRequest | string)[]) => requestLoop(run, requests);
  }
  get serve() {
    const run = this.#run;
    return (request: AnyRequest | string, handler: Handler, options: ServeOptions = {}) =>
      serve(run, request, handler, options);
  }
  get entity() {
    return (entity: EntityDef<unknown, unknown>, key: string) => {
      checkEntity(entity, "ctx.entity");
      return entity.fromContext(this as unknown as OrchestrationContext, key); // as in orchestrationContext
    };
  }
  get set() {
    const run = this.#run;
    return (value: ValueDef<unknown>, to: unknown) => setValue(run, value, to);
  }
  get get() {
    const run = this.#run;
    return (value: ValueDef<unknown>) => getValue(run, value);
  }
  get sleep() {
    const run = this.#run;
    return (until: Duration | Date) => callTimer(run, timerBody(run, until));
  }
  get waitFor() {
    const run = this.#run;
    return (event: AnyEvent, options: WaitForOptions = {}) => waitFor(run, event, options);
  }
  get callback() {
    const run = this.#run;
    return (callback: string | CallbackDef<unknown, never>, options: CallbackOptions = {}) =>
      createCallback(run, callback, options);
  }
  get events() {
    const run = this.#run;
    return (event: AnyEvent) => eventStream(run, event);
  }
  get stream() {
    const run = this.#run;
    return (stream: AnyStream | string) => openStream(run, stream);
  }
  get scope() {
    const run = this.#run;
    return <T>(fn: () => T | Promise<T>) => runScope(run, fn);
  }
  get all() {
    const run = this.#run;
    return (branches: readonly unknown[]) => joinAll(run, branches);
  }
  get allSettled() {
    const run = this.#run;
    return (branches: readonly unknown[]) => joinAllSettled(run, branches);
  }
  get any() {
    const run = this.#run;
    return (branches: readonly unknown[]) => firstSuccess(run, branches);
  }
  get race() {
    const run = this.#run;
    return (branches: unknown) => race(run, branches);
  }
  get continueAsNew() {
    const run = this.#run;
    return (input: unknown, options: ContinueOptions = {}) => continueAsNew(run, input, options);
  }
  get now() {
    const run = this.#run;
    return () => {
      run.currentScope();
      return new Date(run.eventTime);
    };
  }
  get uuid() {
    const run = this.#run;
    return () => {
      run.currentScope();
      return run.uuid();
    };
  }
  get random() {
    const run = this.#run;
    return () => {
      run.currentScope();
      return run.random();
    };
  }
  get patched() {
    const run = this.#run;
    return (change: string, options: PatchOptions = {}) => {
      run.currentScope();
      checkMembers(options, PATCH_OPTIONS, "ctx.patched");
      checkFlag(options.retired, "retired");
      return run.patched(parseName(change, "change id"), options.retired ?? false);
    };
  }
  get setStatus() {
    const run = this.#run;
    return (value: unknown) => setStatus(run, value);
  }
  get status() {
    const run = this.#run;
    return run.state.status === null ? undefined : decodeNow(run, run.state.status);
  }
  get setAttributes() {
    const run = this.#run;
    return (attributes: Readonly<Record<string, AttributeValue | null>>) =>
      setAttributes(run, attributes);
  }
  get shield() {
    const run = this.#run;
    return <T>(fn: () => T | Promise<T>) => runShield(run, fn);
  }
  get compensate() {
    const run = this.#run;
    return (fn: () => unknown) => {
      run.currentScope();
      checkFunction(fn, "ctx.compensate");
      addCompensation(run, fn);
    };
  }
  get kv() {
    return (this.#kv ??= keyValues(this.#run));
  }
  get log() {
    const run = this.#run;
    return (this.#log ??= makeLogger((level, message, fields) => {
      if (!run.isReplaying) run.logs.push({ level, message, fields });
    }));
  }
  get context() {
    return this.#run.state.context;
  }
  get info() {
    return (this.#info ??= new Info(this.#run));
  }
}

function waitFor(run: Run, event: AnyEvent, options: WaitForOptions): Task<unknown> {
  const name = parseName(typeof event === "string" ? event : event?.name, "event name");
  checkMembers(options, WAIT_FOR_OPTIONS, "ctx.waitFor");
  const { since, timeout } = options;
  checkChoice(since, ["ever", "now"], "since");
  checkFlag(options.internal, "internal");
  const timeoutMs = timeout === undefined ? null : parseDuration(timeout, "timeout");
  const unread = run.mailbox.unreadCount;
  const body: EventSubscribed = {
    kind: "EventSubscribed",
    name,
    ...(since === "now" ? { since } : {}),
    ...(options.details === undefined ? {} : { details: run.codec.encode(options.details) }),
    ...(options.internal === true ? { internal: true } : {}),
  };
  const wait = callEvent(run, body, typeof event === "string" ? undefined : event.schema);
  const isTaken = run.mailbox.unreadCount < unread;
  return timeoutMs === null || isTaken ? wait : orNull(run, wait, timeoutMs);
}

function eventStream(run: Run, event: AnyEvent): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      let open: Task<unknown> | null = null;
      return {
        async next() {
          open = waitFor(run, event, {});
          const value = await open;
          open = null;
          return { done: false as const, value };
        },
        async return() {
          open?.cancel("the loop ended");
          return { done: true as const, value: undefined };
        },
      };
    },
  };
}

function race(run: Run, branches: unknown): Task<unknown> {
  if (Array.isArray(branches)) return firstOutcome(run, branches);
  if (typeof branches !== "object" || branches === null || branches instanceof Promise) {
    const got = showValue(branches);
    throw invalidArgument(
      `ctx.race must be given an object or a list of tasks or functions; got ${got}.`,
    );
  }
  const keys = Object.keys(branches);
  return firstOutcome(run, Object.values(branches)).map(({ index, value }) => ({
    key: keys[index],
    value,
  }));
}

function continueAsNew(run: Run, input: unknown, options: ContinueOptions): Promise<never> {
  const scope = run.currentScope();
  checkMembers(options, CONTINUE_OPTIONS, "ctx.continueAsNew");
  const { version } = options;
  if (version !== undefined) parseVersion(version);
  const text = run.codec.encode(input);
  checkPayload(text, "The next execution's input", run.limits);
  // A shield protects cleanup. It does not let a cancelled instance continue as new (19b).
  const refused = run.cancelReason ?? scope.cancelReason();
  return new Promise<never>((_, reject) => {
    if (run.isOver) return;
    if (refused !== null)
      run.rejectLater(() => reject(withoutEngineStack(new CancelledError(refused))));
    else run.continuation ??= { input: text, version: version ?? null };
  });
}

class Info implements OrchestrationInfo {
  readonly #run: Run;
  constructor(run: Run) {
    this.#run = run;
  }
  get instanceId(): string {
    return this.#run.instanceId;
  }
  get executionId(): number {
    return this.#run.execution;
  }
  get name(): string {
    return this.#run.started.name;
  }
  get version(): string {
    return this.#run.started.orchestrationVersion;
  }
  get parent(): { id: string; sequence: number } | undefined {
    const { parent } = this.#run.started;
    return parent && { id: parent.id, sequence: parent.sequence };
  }
  get isReplaying(): boolean {
    return this.#run.isReplaying;
  }
  get historyLength(): number {
    return this.#run.deliveredSequence;
  }
  get historyBytes(): number {
    return this.#run.historyBytes;
  }
  get cancelRequested(): boolean {
    return this.#run.cancelReason !== null;
  }
  get attributes(): Attributes {
    return attributesOf(this.#run.state.attributes);
  }
}
