// A schedule: an orchestration that starts another by the calendar.
//   SC1. A schedule is an orchestration to everything else: registered, paused, listed and shown like one. Its one
//        instance has its name as id; it is begun and changed by `apply`.
//   SC2. Each time of the calendar is carried out once, and has one run, `name/time`, an instance of its own that no
//        end of the schedule reaches.

import type { Client } from "../client/client.ts";
import type { Handle } from "../client/handle.ts";
import {
  orchestration,
  type Activity,
  type Orchestration,
  type OrchestrationOptions,
} from "../core/definitions.ts";
import { isPerdureError, PerdureError } from "../core/errors.ts";
import type { OrchestrationStarted } from "../core/history-events.ts";
import { parseInstanceId, parseName, showValue } from "../core/ids.ts";
import { checkMembers, checkWhole, type Members } from "../core/known-members.ts";
import { isTerminalStatus } from "../core/provider/index.ts";
import { nextTime } from "./calendar.ts";
import { fireActivity } from "./fire.ts";
import { loop, type FireRequest } from "./loop.ts";
import { isSameRule, momentOf, ruleOf, type RuleOptions, type ScheduleRule } from "./rule.ts";
import { CHANGE, STATE, TRIGGER, type Fired, type ScheduleState } from "./state.ts";

/** A run's input: a value, or a function of the run's time. */
export type ScheduleInput<I> = I | ((time: Date) => I | Promise<I>);

/** What is started, and when. */
export type ScheduleOptions<I> = RuleOptions & {
  /** What is started. Register it too, wherever it is to run. */
  readonly start: Orchestration<I, unknown, unknown>;
} & (undefined extends I
    ? { readonly input?: ScheduleInput<NoInfer<I>> }
    : { readonly input: ScheduleInput<NoInfer<I>> });

/** The same, without the type of the input: whether it fits was the compiler's to say. */
interface UntypedOptions extends RuleOptions {
  readonly start: Orchestration<never, unknown, unknown>;
  readonly input?: unknown;
}

const OPTIONS: Members<UntypedOptions> = {
  start: true,
  input: true,
  cron: true,
  timezone: true,
  every: true,
  from: true,
  until: true,
  overlap: true,
  missed: true,
  maxLateness: true,
  jitter: true,
};

/** A run's id is the name and its time, and of a trigger a number: 56 characters at most. An id has 256 bytes. */
const NAME_BYTES_MAX = 200;

/** A schedule, as `schedule(…)` makes it: an orchestration to register, and the calls that begin and change it. */
export class Schedule implements Orchestration<ScheduleState, never> {
  readonly kind = "orchestration";
  /** Also the id of its instance. */
  readonly name: string;
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: Orchestration<ScheduleState, never>["handler"];
  readonly activities: readonly Activity<never, unknown>[];
  /** When, and what then, as it is recorded. */
  readonly rule: ScheduleRule;
  declare readonly "~types"?: {
    readonly input: (input: ScheduleState) => void;
    readonly output: () => never;
    readonly nodes?: () => Record<never, never>;
  };

  constructor(name: string, rule: ScheduleRule, fire: Activity<FireRequest, Fired>) {
    const { version, options, handler } = orchestration(name, loop(fire), { input: STATE });
    this.name = name;
    this.version = version;
    this.options = options;
    this.handler = handler;
    this.activities = Object.freeze([fire]);
    this.rule = Object.freeze(rule);
    Object.freeze(this);
  }

  /**
   * Makes the store's schedule what this code says: begins it, begins it again if somebody ended it, and hands a rule
   * that differs to the one that runs. Call it when a process begins; a repeated call does nothing. It also repairs a
   * schedule whose stored rule is not valid.
   */
  async apply(client: Client): Promise<Handle<never>> {
    const handle = client.get(this, this.name);
    const record = await client.provider.readInstance(this.name);
    if (record !== null && record.name !== this.name) {
      const message = `Schedule "${this.name}" cannot begin: an instance of ${record.name} has its id.`;
      throw new PerdureError("INSTANCE_EXISTS", message);
    }
    if (record === null || isTerminalStatus(record.status)) {
      if (await this.#begin(client, record === null ? "fail" : "restart")) return handle;
    }
    const running = await this.#runningRule(client);
    if (!isSameRule(running, this.rule)) await handle.raise(CHANGE, this.rule);
    return handle;
  }

  /** Starts one run more, now, whatever else is going on. It has the moment it is taken as its time. */
  async trigger(client: Client): Promise<void> {
    await client.get(this, this.name).raise(TRIGGER);
  }

  /** The times after a moment, by its rule: the first ones, and fewer if there are no more. */
  times(count: number, after: Date): readonly Date[] {
    checkWhole(count, 1, "count");
    const times: Date[] = [];
    let time = nextTime(this.rule, momentOf(after, "after"));
    for (; time !== null && times.length < count; time = nextTime(this.rule, time)) {
      times.push(new Date(time));
    }
    return times;
  }

  /** The rule of the newest execution, or the one that replaces it next: whatever its input holds. */
  async #runningRule(client: Client): Promise<unknown> {
    const [first] = await client.get(this, this.name).history({ limit: 1 });
    const started = first ?? (await this.#pendingStart(client));
    if (started?.kind !== "OrchestrationStarted") return undefined;
    const state = client.codec.decode(started.input) as Partial<ScheduleState> | null; // its parts are compared
    return state?.change ?? state?.rule;
  }

  /** How the newest execution begins, before its first turn. */
  async #pendingStart(client: Client): Promise<OrchestrationStarted | undefined> {
    const record = await client.provider.readInstance(this.name);
    if (record === null) return undefined;
    const inbox = await client.provider.readInbox(record.key);
    const message = inbox.find(({ kind }) => kind === "start");
    return message === undefined ? undefined : (JSON.parse(message.data) as OrchestrationStarted);
  }

  /** Whether it began; false: another process was faster. */
  async #begin(client: Client, onConflict: "fail" | "restart"): Promise<boolean> {
    const state = { rule: this.rule, after: null, change: null, last: null, run: null };
    try {
      const own: Orchestration<ScheduleState, never> = this;
      await client.start(own, state, { id: this.name, onConflict });
      return true;
    } catch (error) {
      if (isPerdureError(error, "INSTANCE_EXISTS")) return false;
      if (isPerdureError(error, "INSTANCE_RUNNING")) return false;
      throw error;
    }
  }
}

/** Defines a schedule: `start` is started at each time of the calendar, once. */
export function schedule<I>(name: string, options: ScheduleOptions<I>): Schedule;
export function schedule(name: string, options: UntypedOptions): Schedule {
  parseName(name, "schedule name");
  parseInstanceId(name);
  const what = `schedule "${name}"`;
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) {
    throw invalid(`The name of ${what} is longer than ${NAME_BYTES_MAX} bytes in UTF-8.`);
  }
  checkMembers(options, OPTIONS, what);
  const { start, input } = options;
  if (start?.kind !== "orchestration") {
    throw invalid(`start of ${what} is an orchestration, not ${showValue(start)}.`);
  }
  const inputOf = typeof input === "function" ? input : () => input;
  const fire = fireActivity({ schedule: name, start, input: inputOf as (time: Date) => unknown });
  return new Schedule(name, ruleOf(options, what), fire);
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
