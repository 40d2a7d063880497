// The context object an orchestration receives: arguments in, calls on its run out.

import type { StepContext } from "./activity-context.ts";
import {
  activityBody,
  checkedInput,
  childBody,
  priorityOf,
  stepBody,
  targetOf,
  timerBody,
  type AnyActivity,
  type AnyOrchestration,
} from "./call-bodies.ts";
import { firstOutcome, firstSuccess, joinAll, joinAllSettled } from "./combinators.ts";
import { bindRun } from "./context-run.ts";
import type {
  CallOptions,
  DetachedOptions,
  EventOptions,
  OrchestrationContext,
  StepOptions,
  Task,
} from "./context-types.ts";
import type { EventDef, RunOptions as ActivityRunOptions } from "./definitions.ts";
import type { Duration } from "./duration.ts";
import { PerdureError } from "./errors.ts";
import { parseInstanceId, parseName } from "./ids.ts";
import { keyValues } from "./key-values.ts";
import {
  checkChoice,
  checkFlag,
  checkFunction,
  checkMembers,
  type Members,
} from "./known-members.ts";
import { makeLogger } from "./log.ts";
import { Info } from "./orchestration-info.ts";
import { checkPayload } from "./limits.ts";
import { CancelledError } from "./outcome-errors.ts";
import { replayed } from "./replayed-error.ts";
import {
  callActivity,
  callChild,
  callEvent,
  callStep,
  callTimer,
  callTransaction,
} from "./run-calls.ts";
import { deferCompensation } from "./run-cancel.ts";
import { decodeNow } from "./run-delivery.ts";
import { runScope, runShield } from "./run-scope.ts";
import { setAttributes, setStatus } from "./run-self.ts";
import type { Run } from "./run.ts";
import { parseVersion } from "./semver.ts";

type ContinueOptions = NonNullable<Parameters<OrchestrationContext["continueAsNew"]>[1]>;
type PatchOptions = NonNullable<Parameters<OrchestrationContext["patched"]>[1]>;

const DETACHED_OPTIONS: Members<DetachedOptions> = { id: true, version: true, priority: true };
const EVENT_OPTIONS: Members<EventOptions> = { since: true, details: true, internal: true };
const CONTINUE_OPTIONS: Members<ContinueOptions> = { version: true };
const PATCH_OPTIONS: Members<PatchOptions> = { retired: true };

type AnyEvent = EventDef<unknown, never> | string;

export function orchestrationContext(run: Run): OrchestrationContext {
  const context = {
    run: (activity: AnyActivity, input?: unknown, options?: ActivityRunOptions) =>
      callActivity(run, activityBody(run, activity, input, options)),
    step: (name: string, fn: (s: StepContext) => unknown, options?: StepOptions) =>
      callStep(run, stepBody(name, fn, options), fn),
    tx: (name: string, fn: (transaction: unknown) => unknown, options?: StepOptions) =>
      callTransaction(run, { ...stepBody(name, fn, options), transaction: true }, fn),
    call: (child: AnyOrchestration, input?: unknown, options: CallOptions = {}) =>
      callChild(run, childBody(run, child, input, options)),
    startDetached: (child: AnyOrchestration, input: unknown, options: DetachedOptions) =>
      startDetached(run, child, input, options),
    sleep: (until: Duration | Date) => callTimer(run, timerBody(run, until)),
    event: (event: AnyEvent, options: EventOptions = {}) => waitFor(run, event, options),
    events: (event: AnyEvent) => eventStream(run, event),
    scope: <T>(fn: () => T | Promise<T>) => runScope(run, fn),
    all: (branches: readonly unknown[]) => joinAll(run, branches),
    allSettled: (branches: readonly unknown[]) => joinAllSettled(run, branches),
    any: (branches: readonly unknown[]) => firstSuccess(run, branches),
    race: (branches: unknown) => race(run, branches),
    continueAsNew: (input: unknown, options: ContinueOptions = {}) =>
      continueAsNew(run, input, options),
    now: () => {
      run.enter();
      return new Date(run.at);
    },
    uuid: () => {
      run.enter();
      return run.uuid();
    },
    random: () => {
      run.enter();
      return run.random();
    },
    patched: (change: string, options: PatchOptions = {}) => {
      run.enter();
      checkMembers(options, PATCH_OPTIONS, "ctx.patched");
      checkFlag(options.retired, "retired");
      return run.patched(parseName(change, "change id"), options.retired ?? false);
    },
    setStatus: (value: unknown) => setStatus(run, value),
    get status() {
      return run.state.status === null ? undefined : decodeNow(run, run.state.status);
    },
    kv: keyValues(run),
    setAttributes: (attributes: Readonly<Record<string, string | null>>) =>
      setAttributes(run, attributes),
    shield: <T>(fn: () => T | Promise<T>) => runShield(run, fn),
    defer: (fn: () => unknown) => {
      run.enter();
      checkFunction(fn, "ctx.defer");
      deferCompensation(run, fn);
    },
    log: makeLogger((level, message, fields) => {
      if (!run.isReplaying) run.logs.push({ level, message, fields });
    }),
    info: new Info(run),
  };
  bindRun(context, run);
  // The public interface's overloads are narrower than this object's loose signatures, which accept all of them.
  return context as unknown as OrchestrationContext;
}

function startDetached(
  run: Run,
  child: AnyOrchestration,
  input: unknown,
  options: DetachedOptions,
): void {
  const scope = run.enter();
  checkMembers(options, DETACHED_OPTIONS, "ctx.startDetached");
  const target = targetOf(child, options.version, "ctx.startDetached");
  const id = parseInstanceId(options.id);
  const text = run.codec.encode(checkedInput(child, input));
  const own = priorityOf(options, `detached "${target.name}"`);
  if (scope.cancelledBecause() !== null) return;
  run.command({ kind: "DetachedStarted", ...target, id, input: text, ...own });
}

function waitFor(run: Run, event: AnyEvent, options: EventOptions): Task<unknown> {
  const name = parseName(typeof event === "string" ? event : event?.name, "event name");
  checkMembers(options, EVENT_OPTIONS, "ctx.event");
  const { since } = options;
  checkChoice(since, ["ever", "now"], "since");
  checkFlag(options.internal, "internal");
  return callEvent(run, {
    kind: "EventSubscribed",
    name,
    ...(since === "now" ? { since } : {}),
    ...(options.details === undefined ? {} : { details: run.codec.encode(options.details) }),
    ...(options.internal === true ? { internal: true } : {}),
  });
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
    const message = "ctx.race takes an object or a list of tasks or functions.";
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  const keys = Object.keys(branches);
  return firstOutcome(run, Object.values(branches)).map(({ index, value }) => ({
    key: keys[index],
    value,
  }));
}

function continueAsNew(run: Run, input: unknown, options: ContinueOptions): Promise<never> {
  const scope = run.enter();
  checkMembers(options, CONTINUE_OPTIONS, "ctx.continueAsNew");
  const { version } = options;
  if (version !== undefined) parseVersion(version);
  const text = run.codec.encode(input);
  checkPayload(text, "The next execution's input", run.limits);
  // A shield lets clean-up run to its end, not the instance begin anew (19b).
  const refused = run.cancelReason ?? scope.cancelledBecause();
  return new Promise<never>((_, reject) => {
    if (run.isOver) return;
    if (refused !== null) run.rejectLater(() => reject(replayed(new CancelledError(refused))));
    else run.continuation ??= { input: text, version: version ?? null };
  });
}
