// Call bodies: check and encode the arguments of context calls, before anything is recorded (core.calls.1).

import {
  activityOptions,
  checkPriority,
  RUN_OPTIONS,
  type Activity,
  type Orchestration,
} from "../define/definitions.ts";
import type { RunOptions as ActivityRunOptions } from "../define/definitions.ts";
import type { InheritedContext } from "./app-types.ts";
import { changedContext } from "./start-context.ts";
import type { CallOptions, StepOptions } from "./types.ts";
import { parseDuration, type Duration } from "../time/duration.ts";
import { PerdureError } from "../errors/errors.ts";
import type {
  ActivityOptions,
  ActivityScheduled,
  ChildScheduled,
  DetachedStarted,
  OfNode,
} from "../history/events.ts";
import { childInstanceId, parseChildId, parseName, showValue } from "../ids/ids.ts";
import {
  checkChoice,
  checkFunction,
  checkMembers,
  invalidArgument,
  type Members,
} from "../checks.ts";
import type { Run } from "../replay/run.ts";
import { parseAttributes, type Attributes, type StoredAttributes } from "../define/attributes.ts";
import { parseVersion } from "../ids/semver.ts";
import { checkKeyGiven } from "../define/queue-settings.ts";
import { validateNow } from "../values/standard-schema.ts";

export type AnyActivity = Activity<never, unknown> | string;
export type AnyOrchestration = Orchestration<never, unknown> | string;

const STEP_OPTIONS: Members<StepOptions> = { attempts: true, retry: true, timeout: true };
const CALL_OPTIONS: Members<CallOptions> = {
  id: true,
  version: true,
  onParentClose: true,
  priority: true,
  attributes: true,
  delay: true,
  context: true,
};

export function activityBody(
  run: Run,
  activity: AnyActivity,
  input: unknown,
  options: ActivityRunOptions | undefined,
): ActivityScheduled {
  if (typeof activity !== "string" && activity?.kind !== "activity") {
    const got = showValue(activity);
    throw invalidArgument(`ctx.run must be given an activity or its name; got ${got}.`);
  }
  const name = typeof activity === "string" ? parseName(activity, "activity name") : activity.name;
  if (typeof input === "function") {
    const message = `The input of activity "${name}" is a function, which cannot be stored: did you mean ctx.step("${name}", fn)?`;
    throw new PerdureError("VALUE_NOT_SERIALIZABLE", message);
  }
  const defaults: ActivityOptions = typeof activity === "string" ? {} : activity.options;
  const what = `activity "${name}"`;
  const own = options === undefined ? {} : runOptions(options, what);
  if (typeof activity !== "string") checkKeyGiven(activity.queue, own.queueKey, what);
  return { kind: "ActivityScheduled", name, input: run.codec.encode(input), ...defaults, ...own };
}

function runOptions(options: ActivityRunOptions, what: string): ActivityOptions {
  checkMembers(options, RUN_OPTIONS, what);
  return activityOptions(options, what);
}

export function stepBody(name: string, fn: unknown, options: StepOptions = {}) {
  const what = `step "${parseName(name, "step name")}"`;
  checkFunction(fn, what);
  checkMembers(options, STEP_OPTIONS, what);
  const { retry, timeoutMs } = activityOptions(options, what);
  return {
    kind: "StepScheduled" as const,
    name,
    ...(retry === undefined ? {} : { retry }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

export function childBody(
  run: Run,
  child: AnyOrchestration,
  input: unknown,
  options: CallOptions,
  ofNode: OfNode = {},
): ChildScheduled {
  checkMembers(options, CALL_OPTIONS, "ctx.call");
  const target = targetOf(child, options.version, "ctx.call");
  const { onParentClose } = options;
  checkChoice(onParentClose, ["cancel", "abandon"], "onParentClose");
  const id =
    options.id === undefined
      ? childInstanceId({
          parent: run.instanceId,
          execution: run.execution,
          sequence: run.lastSequence + 1,
        })
      : parseChildId(options.id);
  const body = {
    kind: "ChildScheduled" as const,
    ...target,
    id,
    ...(options.id === undefined ? {} : { explicitId: true as const }),
    ...(onParentClose === "abandon" ? { onParentClose: "abandon" as const } : {}),
    ...priorityOf(options, `child "${target.name}"`),
    ...startExtras(run, options, `child "${target.name}"`),
    ...ofNode,
  };
  return withInput(run, child, input, body);
}

/**
 * Adds the input as it was given: the child checks it again (received.2). A history of an older version may hold
 * the output of the schema instead; the call then asks for what is recorded.
 */
export function withInput<
  Body extends Omit<ChildScheduled, "input"> | Omit<DetachedStarted, "input">,
>(run: Run, child: AnyOrchestration, given: unknown, body: Body) {
  const output = checkedInput(child, given);
  const asked = { ...body, input: run.codec.encode(given), unchecked: true as const };
  if (output === given || !run.hasMoreHistory || run.isRecorded(asked)) return asked;
  const older = { ...body, input: run.codec.encode(output) };
  return run.isRecorded(older) ? older : asked;
}

export function priorityOf(
  { priority }: { readonly priority?: number },
  what: string,
): { priority?: number } {
  if (priority === undefined) return {};
  checkPriority(priority, what);
  return { priority };
}

/** The attributes, the delay and the changed context of an instance that a turn starts. */
export function startExtras(
  run: Run,
  options: InheritedContext & { readonly attributes?: Attributes; readonly delay?: Duration },
  what: string,
): { attributes?: StoredAttributes; delayMs?: number; context?: string } {
  const { attributes, delay } = options;
  return {
    ...(attributes === undefined
      ? {}
      : { attributes: parseAttributes(attributes, { mayBeNull: false }) }),
    ...(delay === undefined ? {} : { delayMs: parseDuration(delay, "delay") }),
    ...changedContext(run.state.context, options.context, run.codec, what),
  };
}

export function targetOf(child: AnyOrchestration, version: string | undefined, what: string) {
  if (typeof child !== "string" && child?.kind !== "orchestration") {
    const got = showValue(child);
    throw invalidArgument(`${what} must be given an orchestration or its name; got ${got}.`);
  }
  const name = typeof child === "string" ? parseName(child, "orchestration name") : child.name;
  const pinned = version ?? (typeof child === "string" ? undefined : child.version);
  if (pinned !== undefined) parseVersion(pinned);
  return { name, ...(pinned === undefined ? {} : { orchestrationVersion: pinned }) };
}

/** Throws if the schema of the orchestration refuses the input. */
export function checkInput(child: AnyOrchestration, input: unknown): void {
  checkedInput(child, input);
}

function checkedInput(child: AnyOrchestration, input: unknown): unknown {
  const schema = typeof child === "string" ? undefined : child.options.input;
  return schema === undefined ? input : validateNow(schema, input, "input");
}

export function timerBody(run: Run, until: Duration | Date) {
  if (until instanceof Date) {
    const due = until.getTime();
    if (Number.isNaN(due)) {
      throw invalidArgument("ctx.sleep must be given a valid date; got an invalid Date.");
    }
    return { kind: "TimerCreated" as const, due };
  }
  const delayMs = parseDuration(until, "ctx.sleep's duration");
  return { kind: "TimerCreated" as const, due: run.eventTime + delayMs, delayMs };
}
