// A schedule: an orchestration that starts another orchestration at calendar times.
//   - To the rest of the library a schedule is an orchestration: it is registered, paused and listed like
//        one. It has one instance, whose id is the schedule's name. `apply` starts and changes it.
//   - Each scheduled time has exactly one run, a separate instance with the id `name/time`. The run
//        continues when the schedule ends.

import type { Client } from "../client/client.ts";
import type { Handle } from "../client/handle.ts";
import type { ContextInput, StartContext } from "../core/context/app-types.ts";
import { checkContext } from "../core/context/start-context.ts";
import {
  orchestration,
  type Activity,
  type Orchestration,
  type OpenedStore,
  type OrchestrationOptions,
} from "../core/define/definitions.ts";
import { isPerdureError, PerdureError } from "../core/errors/errors.ts";
import type { OrchestrationStarted } from "../core/history/events.ts";
import { parseInstanceId, parseName, showValue } from "../core/ids/ids.ts";
import {
  momentOf,
  checkFlag,
  checkMembers,
  checkInteger,
  type Members,
  invalidArgument,
} from "../core/checks.ts";
import { isTerminalStatus } from "../core/provider/index.ts";
import { nextTime } from "./calendar.ts";
import { fireActivity } from "./fire.ts";
import { loop, type FireRequest } from "./loop.ts";
import { isSameRule, ruleOf, ruleText, type RuleOptions, type ScheduleRule } from "./rule.ts";
import { CHANGE, STATE, TRIGGER, type Fired, type ScheduleState } from "./state.ts";

/** The input of a run: a value, or a function of the scheduled time. */
export type ScheduleInput<I> = I | ((time: Date) => I | Promise<I>);

/** Options of a schedule. */
export type ScheduleOptions<I> = RuleOptions &
  StartContext & {
    /** The orchestration to start. Also register it in the runtimes that run it. */
    readonly start: Orchestration<I, unknown, unknown>;
    /**
     * Whether a process that registers the schedule applies it when it opens the store. Default true. With
     * false, the schedule runs by its stored rule, and only `schedule.apply(client)` starts or changes it.
     */
    readonly apply?: boolean;
  } & (undefined extends I
    ? { readonly input?: ScheduleInput<NoInfer<I>> }
    : { readonly input: ScheduleInput<NoInfer<I>> });

/** The same without the input's type, which the overload of `schedule` has checked. */
interface UntypedOptions extends RuleOptions, StartContext {
  readonly start: Orchestration<never, unknown, unknown>;
  readonly input?: unknown;
  readonly apply?: boolean;
}

const OPTIONS: Members<UntypedOptions> = {
  start: true,
  input: true,
  apply: true,
  context: true,
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

/**
 * A run's id adds the time, and a number for a trigger, to the name: at most 56 characters. An id has at
 * most 256 bytes.
 */
const NAME_BYTES_MAX = 200;

interface ScheduleParts {
  readonly fire: Activity<FireRequest, Fired>;
  readonly apply: boolean;
  readonly context: ContextInput;
}

/** A schedule: an orchestration to register, with methods that start and change its instance. */
export class Schedule implements Orchestration<ScheduleState, never> {
  readonly kind = "orchestration";
  readonly role = "schedule";
  /** The schedule's name, which is also the id of its instance. */
  readonly name: string;
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: Orchestration<ScheduleState, never>["handler"];
  readonly activities: readonly Activity<never, unknown>[];
  /** The options as plain data, as they are stored. */
  readonly rule: ScheduleRule;
  /** Applies the schedule when a runtime that registers it starts. Absent with `apply: false`. */
  readonly onOpen?: (opened: OpenedStore) => Promise<void>;
  readonly #context: ContextInput;
  declare readonly "~types"?: {
    readonly input: (input: ScheduleState) => void;
    readonly output: () => never;
    readonly nodes?: () => Record<never, never>;
  };

  constructor(name: string, rule: ScheduleRule, { fire, apply, context }: ScheduleParts) {
    const { version, options, handler } = orchestration(name, loop(fire), { input: STATE });
    this.name = name;
    this.version = version;
    this.options = options;
    this.handler = handler;
    this.activities = Object.freeze([fire]);
    this.rule = Object.freeze(rule);
    this.#context = context;
    if (apply) this.onOpen = (opened) => this.#applyAtOpen(opened);
    Object.freeze(this);
  }

  /**
   * Makes the stored schedule match this definition: starts it, restarts it if it has ended, or sends it
   * the new rule if the rule differs. A repeated call changes nothing. It also repairs a schedule whose
   * stored rule is not valid. A process that registers the schedule does this when it opens the store,
   * unless the schedule has `apply: false`; it leaves a schedule alone that was cancelled or terminated.
   */
  async apply(client: Client): Promise<Handle<never>> {
    await this.#put(client);
    return client.get(this, this.name);
  }

  /**
   * Applies the rule once per start of a runtime. So two processes with different rules do not replace each
   * other's rule in a loop: the process that starts last wins.
   */
  async #applyAtOpen({ client, log, runtimeId }: OpenedStore): Promise<void> {
    const record = await client.provider.readInstance(this.name);
    const { name, status } = record ?? {};
    if (name === this.name && (status === "cancelled" || status === "terminated")) {
      const way = "call schedule.apply(client) to start it again";
      log.warn(`schedule "${this.name}" was ${status} and starts no runs; ${way}`);
      return;
    }
    const replaced = await this.#put(client);
    if (replaced === null) return;
    const rules = `${ruleText(replaced.rule)} is replaced by ${ruleText(this.rule)}`;
    const others = await this.#otherWorkers(client, runtimeId);
    if (others.length === 0) log.info(`schedule "${this.name}": its rule changes: ${rules}`);
    else {
      const what = "another running process registers it with a different rule";
      log.warn(`schedule "${this.name}": ${what}: ${rules}`, { others });
    }
  }

  /** The other runtimes that register this schedule. */
  async #otherWorkers(client: Client, runtimeId: string): Promise<readonly string[]> {
    const runtimes = await client.runtimes();
    const registering = runtimes.filter(
      ({ id, registered }) =>
        id !== runtimeId && Object.hasOwn(registered?.orchestrations ?? {}, this.name),
    );
    return registering.map(({ id }) => id);
  }

  /** Starts or changes the instance. Returns the rule that the rule of this code replaces; null: none. */
  async #put(client: Client): Promise<{ readonly rule: unknown } | null> {
    const record = await client.provider.readInstance(this.name);
    if (record !== null && record.name !== this.name) {
      const message = `Schedule "${this.name}" cannot start: an instance of orchestration "${record.name}" has its id; rename one of them.`;
      throw new PerdureError("INSTANCE_EXISTS", message);
    }
    if (record === null || isTerminalStatus(record.status)) {
      if (await this.#begin(client, record === null ? "fail" : "restart")) return null;
    }
    const running = await this.#runningRule(client);
    if (isSameRule(running, this.rule)) return null;
    await client.get(this, this.name).raise(CHANGE, this.rule);
    return { rule: running };
  }

  /**
   * Starts an additional run now, regardless of `overlap`. Its time is the moment at which the schedule
   * handles the call.
   */
  async trigger(client: Client): Promise<void> {
    await client.get(this, this.name).raise(TRIGGER);
  }

  /** The first `count` scheduled times after a date. Fewer if the rule has no more. */
  times(count: number, after: Date): readonly Date[] {
    checkInteger(count, 1, "count");
    const times: Date[] = [];
    let time = nextTime(this.rule, momentOf(after, "after"));
    for (; time !== null && times.length < count; time = nextTime(this.rule, time)) {
      times.push(new Date(time));
    }
    return times;
  }

  /** The pending rule change of the newest execution, or its rule. Unchecked. */
  async #runningRule(client: Client): Promise<unknown> {
    const [first] = await client.get(this, this.name).history({ limit: 1 });
    const started = first ?? (await this.#pendingStart(client));
    if (started?.kind !== "OrchestrationStarted") return undefined;
    const state = client.codec.decode(started.input) as Partial<ScheduleState> | null; // Only compared as JSON.
    return state?.change ?? state?.rule;
  }

  /** The start event of the newest execution while it is still in the inbox, before the first turn. */
  async #pendingStart(client: Client): Promise<OrchestrationStarted | undefined> {
    const record = await client.provider.readInstance(this.name);
    if (record === null) return undefined;
    const inbox = await client.provider.readInbox(record.key);
    const message = inbox.find(({ kind }) => kind === "start");
    return message === undefined ? undefined : (JSON.parse(message.data) as OrchestrationStarted);
  }

  /** Starts the instance. False: another process has started it first. */
  async #begin(client: Client, onConflict: "fail" | "restart"): Promise<boolean> {
    const state = { rule: this.rule, after: null, change: null, last: null, run: null };
    try {
      const own: Orchestration<ScheduleState, never> = this;
      const options = { id: this.name, onConflict, context: this.#context };
      await client.withoutMiddleware().start(own, state, options);
      return true;
    } catch (error) {
      if (isPerdureError(error, "INSTANCE_EXISTS")) return false;
      if (isPerdureError(error, "INSTANCE_RUNNING")) return false;
      throw error;
    }
  }
}

/** Defines a schedule, which starts `start` exactly once at each scheduled time. */
export function schedule<I>(name: string, options: ScheduleOptions<I>): Schedule;
export function schedule(name: string, options: UntypedOptions): Schedule {
  parseName(name, "schedule name");
  parseInstanceId(name);
  const what = `schedule "${name}"`;
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) {
    throw invalidArgument(
      `The name of ${what} must be at most ${NAME_BYTES_MAX} bytes long in UTF-8.`,
    );
  }
  checkMembers(options, OPTIONS, what);
  const { start, input } = options;
  if (start?.kind !== "orchestration") {
    throw invalidArgument(`start of ${what} must be an orchestration; got ${showValue(start)}.`);
  }
  const inputOf = typeof input === "function" ? input : () => input;
  // The codec of the client checks the size.
  const context = checkContext(options.context, what) as ContextInput; // a record of members
  const inputs = inputOf as (time: Date) => unknown;
  const fire = fireActivity({ schedule: name, start, input: inputs, context });
  checkFlag(options.apply, `apply of ${what}`);
  const parts: ScheduleParts = { fire, apply: options.apply !== false, context };
  return new Schedule(name, ruleOf(options, what), parts);
}
