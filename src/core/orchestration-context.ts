// The context object an orchestration receives: arguments in, calls on its run out.

import {
  activityOptions,
  type Activity,
  type EventDef,
  type Orchestration,
} from "./definitions.ts";
import type { RunOptions as ActivityRunOptions } from "./definitions.ts";
import { firstOutcome, firstSuccess, joinAll, joinAllSettled } from "./combinators.ts";
import type {
  CallOptions,
  DetachedOptions,
  EventOptions,
  OrchestrationContext,
  OrchestrationInfo,
  StepOptions,
  Task,
} from "./context-types.ts";
import type { StepContext } from "./activity-context.ts";
import { deterministicRandom, deterministicUuid } from "./deterministic.ts";
import { parseDuration, type Duration } from "./duration.ts";
import { PerdureError } from "./errors.ts";
import type { ActivityOptions, ActivityScheduled } from "./history-events.ts";
import { childInstanceId, parseChildId, parseInstanceId, parseName } from "./ids.ts";
import { makeLogger } from "./log.ts";
import { CancelledError } from "./outcome-errors.ts";
import { replayed } from "./replayed-error.ts";
import { normalizeRetry } from "./retry-policy.ts";
import { callActivity, callChild, callEvent, callStep, callTimer } from "./run-calls.ts";
import { runScope, runShield } from "./run-scope.ts";
import type { Run } from "./run.ts";
import { parseVersion } from "./semver.ts";
import { validateNow } from "./standard-schema.ts";

type AnyActivity = Activity<never, unknown> | string;
type AnyOrchestration = Orchestration<never, unknown> | string;
type AnyEvent = EventDef<unknown, never> | string;

export function orchestrationContext(run: Run): OrchestrationContext {
  const context = {
    run: (activity: AnyActivity, input?: unknown, options?: ActivityRunOptions) =>
      callActivity(run, activityBody(run, activity, input, options)),
    step: (name: string, fn: (s: StepContext) => unknown, options?: StepOptions) =>
      callStep(run, stepBody(name, fn, options), fn),
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
    continueAsNew: (input: unknown, options?: { readonly version?: string }) =>
      continueAsNew(run, input, options?.version),
    now: () => {
      run.enter();
      return new Date(run.at);
    },
    uuid: () => {
      run.enter();
      return deterministicUuid(run.started.seed, run.delivered, run.chanceCalls++);
    },
    random: () => {
      run.enter();
      return deterministicRandom(run.started.seed, run.delivered, run.chanceCalls++);
    },
    shield: <T>(fn: () => T | Promise<T>) => runShield(run, fn),
    defer: (fn: () => unknown) => {
      run.enter();
      run.deferred.push(fn);
    },
    log: makeLogger((level, message, fields) => {
      if (!run.isReplaying) run.logs.push({ level, message, fields });
    }),
    info: new Info(run),
  };
  // The public interface's overloads are narrower than this object's loose signatures, which accept all of them.
  return context as unknown as OrchestrationContext;
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
    return this.#run.delivered;
  }
  get historyBytes(): number {
    return this.#run.bytes;
  }
  get cancelRequested(): boolean {
    return this.#run.cancelReason !== null;
  }
  get attributes(): Readonly<Record<string, string>> {
    return this.#run.started.attributes ?? {};
  }
}

function activityBody(
  run: Run,
  activity: AnyActivity,
  input: unknown,
  options: ActivityRunOptions | undefined,
): ActivityScheduled {
  if (typeof activity !== "string" && activity?.kind !== "activity") {
    throw new PerdureError("INVALID_ARGUMENT", "ctx.run takes an activity or its name.");
  }
  const name = typeof activity === "string" ? parseName(activity, "activity name") : activity.name;
  const defaults: ActivityOptions = typeof activity === "string" ? {} : activity.options;
  const own = options === undefined ? {} : activityOptions(options, `activity "${name}"`);
  return { kind: "ActivityScheduled", name, input: run.codec.encode(input), ...defaults, ...own };
}

function stepBody(name: string, fn: unknown, options: StepOptions | undefined) {
  parseName(name, "step name");
  if (typeof fn !== "function") {
    throw new PerdureError("INVALID_ARGUMENT", `ctx.step("${name}") needs a function.`);
  }
  const { retry, timeoutMs } = activityOptions(options ?? {}, `step "${name}"`);
  return {
    kind: "StepScheduled" as const,
    name,
    ...(retry === undefined ? {} : { retry: normalizeRetry(options?.retry) }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

function childBody(run: Run, child: AnyOrchestration, input: unknown, options: CallOptions) {
  const target = targetOf(child, options.version, "ctx.call");
  const abandon: string | undefined = options.onParentClose;
  if (abandon !== undefined && abandon !== "cancel" && abandon !== "abandon") {
    const message = `onParentClose is "cancel" or "abandon", not ${String(abandon)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  const id =
    options.id === undefined
      ? childInstanceId({
          parent: run.instanceId,
          execution: run.execution,
          sequence: run.lastSequence + 1,
        })
      : parseChildId(options.id);
  return {
    kind: "ChildScheduled" as const,
    ...target,
    id,
    ...(options.id === undefined ? {} : { explicitId: true as const }),
    input: run.codec.encode(checkedInput(child, input)),
    ...(abandon === "abandon" ? { onParentClose: "abandon" as const } : {}),
  };
}

function startDetached(
  run: Run,
  child: AnyOrchestration,
  input: unknown,
  options: DetachedOptions,
): void {
  const scope = run.enter();
  const target = targetOf(child, options.version, "ctx.startDetached");
  const id = parseInstanceId(options.id);
  const text = run.codec.encode(checkedInput(child, input));
  if (scope.cancelledBecause() !== null) return;
  run.command({ kind: "DetachedStarted", ...target, id, input: text });
}

function targetOf(child: AnyOrchestration, version: string | undefined, what: string) {
  if (typeof child !== "string" && child?.kind !== "orchestration") {
    throw new PerdureError("INVALID_ARGUMENT", `${what} takes an orchestration or its name.`);
  }
  const name = typeof child === "string" ? parseName(child, "orchestration name") : child.name;
  const pinned = version ?? (typeof child === "string" ? undefined : child.version);
  if (pinned !== undefined) parseVersion(pinned);
  return { name, ...(pinned === undefined ? {} : { orchestrationVersion: pinned }) };
}

function checkedInput(child: AnyOrchestration, input: unknown): unknown {
  const schema = typeof child === "string" ? undefined : child.options.input;
  return schema === undefined ? input : validateNow(schema, input, "input");
}

function timerBody(run: Run, until: Duration | Date) {
  if (until instanceof Date) {
    const due = until.getTime();
    if (Number.isNaN(due))
      throw new PerdureError("INVALID_ARGUMENT", "ctx.sleep got no valid date.");
    return { kind: "TimerCreated" as const, due };
  }
  const delayMs = parseDuration(until, "ctx.sleep's duration");
  return { kind: "TimerCreated" as const, due: run.at + delayMs, delayMs };
}

function waitFor(run: Run, event: AnyEvent, options: EventOptions): Task<unknown> {
  const name = parseName(typeof event === "string" ? event : event.name, "event name");
  const since: string | undefined = options.since;
  if (since !== undefined && since !== "ever" && since !== "now") {
    throw new PerdureError("INVALID_ARGUMENT", `since is "ever" or "now", not ${String(since)}.`);
  }
  return callEvent(run, {
    kind: "EventSubscribed",
    name,
    ...(since === "now" ? { since } : {}),
    ...(options.details === undefined ? {} : { details: run.codec.encode(options.details) }),
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

function continueAsNew(run: Run, input: unknown, version: string | undefined): Promise<never> {
  const scope = run.enter();
  if (version !== undefined) parseVersion(version);
  const text = run.codec.encode(input);
  // A shield lets clean-up run to its end, not the instance begin anew (19b).
  const refused = run.cancelReason ?? scope.cancelledBecause();
  return new Promise<never>((_, reject) => {
    if (run.isOver) return;
    if (refused !== null) run.rejectLater(() => reject(replayed(new CancelledError(refused))));
    else run.continuation ??= { input: text, version: version ?? null };
  });
}
