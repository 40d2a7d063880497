// A limiter: bounds how many orchestrations do something at the same time, or within a period, across all processes.
//   - A limiter is an orchestration to the rest of the system: it is registered, paused, listed and shown like one.
//        Each key has a separate instance. The first caller starts it; it ends when it is idle.
//   - An admitted caller runs its work and then releases its slot, whatever the outcome. The caller releases it under
//        `ctx.shield`, so its own cancellation does not prevent that. If the caller ends without a message, the
//        limiter releases the slot (limiter.loop.3).
//   - What a call of `run` does depends only on what is recorded, never on the options of the code that replays it.
//   - Stored names: histories and mailboxes in stores hold the names of the activities (`name/ask`), of the request
//        ("limiter.enter"), of the events ("ask", "leave", "gate/<token>") and of the members of their inputs (`gate`,
//        `atOnce`). Some come from the former name of limiters, "gate". They must stay: replay compares them
//        (decisions 0020 and 0041).

import type { Task } from "../core/context/types.ts";
import {
  orchestration,
  type Activity,
  type Orchestration,
  type OrchestrationOptions,
} from "../core/define/definitions.ts";
import { parseDuration, type Duration } from "../core/time/duration.ts";
import { parseInstanceId, parseName, showValue } from "../core/ids/ids.ts";
import { checkMembers, type Members, invalidArgument } from "../core/checks.ts";
import { callerCalls, limiterCalls } from "./calls.ts";
import { passByRequest, type EntryCall, type EntryContext, type EntryLimiter } from "./entry.ts";
import { passByEvents } from "./event-entry.ts";
import { limiterLoop } from "./loop.ts";
import { ruleOf, storedRule, type LimiterOptions, type LimiterRule } from "./rule.ts";
import { STATE, type LimiterState } from "./state.ts";

/** Options of `limiter.run`. */
export interface LimiterRunOptions {
  /** Each key has a separate queue and separate slots. Default: calls without a key share one queue. */
  readonly key?: string;
  /** How long to wait for the admission. After that the call rejects with `TIMEOUT`. Default: no timeout. */
  readonly timeout?: Duration;
}

const RUN_OPTIONS: Members<LimiterRunOptions> = { key: true, timeout: true };
/** An instance id has at most 256 bytes: the limiter's name, a slash and a key. */
const NAME_BYTES_MAX = 100;
const KEY_BYTES_MAX = 155;

/** What `limiter(…)` returns: an orchestration to register, with `run` for its callers. */
export class Limiter implements Orchestration<LimiterState, void> {
  readonly kind = "orchestration";
  readonly role = "limiter";
  readonly name: string;
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: Orchestration<LimiterState, void>["handler"];
  readonly activities: readonly Activity<never, unknown>[];
  /** The limits. */
  readonly rule: LimiterRule;
  readonly #entry: EntryLimiter;
  declare readonly "~types"?: {
    readonly input: (input: LimiterState) => void;
    readonly output: () => void;
    readonly nodes?: () => Record<never, never>;
  };

  constructor(name: string, rule: LimiterRule) {
    const own = limiterCalls(name);
    const stored = storedRule(rule);
    const loop = limiterLoop(own, stored);
    const { version, options, handler } = orchestration(name, loop, { input: STATE });
    this.name = name;
    this.version = version;
    this.options = options;
    this.handler = handler;
    this.rule = Object.freeze(rule);
    const calls = callerCalls(name, stored);
    this.#entry = { name, rule: stored, calls };
    this.activities = Object.freeze([...Object.values(calls), ...Object.values(own)]);
    Object.freeze(this);
  }

  /**
   * Waits for the admission, runs the work, and releases the slot. Cancelling the task removes the caller from the
   * queue or, after the admission, cancels the work and releases the slot.
   */
  run<T>(ctx: EntryContext, work: () => T | Promise<T>, options: LimiterRunOptions = {}): Task<T> {
    if (typeof work !== "function") {
      throw invalidArgument(`${this.#what}: work must be a function; got ${showValue(work)}.`);
    }
    checkMembers(options, RUN_OPTIONS, `run of ${this.#what}`);
    const gate = this.idOf(options.key); // the stored name of the limiter's instance id
    const timeoutMs = this.#timeoutOf(options.timeout);
    const call: EntryCall = { limiter: this.#entry, gate, timeoutMs };
    return ctx.scope(() => {
      // An execution that began before there were requests goes on with events.
      const enter = ctx.patched("limiter.enter") ? passByRequest : passByEvents;
      return enter(ctx, call, work);
    });
  }

  /** The id of the instance that serves this key. */
  idOf(key?: string): string {
    if (key === undefined) return this.name;
    const given: unknown = key;
    if (typeof given !== "string" || given === "" || Buffer.byteLength(given) > KEY_BYTES_MAX) {
      const rule = `must be a string of 1 to ${KEY_BYTES_MAX} bytes in UTF-8`;
      throw invalidArgument(`${this.#what}: key ${rule}; got ${showValue(given)}.`);
    }
    return parseInstanceId(`${this.name}/${key}`);
  }

  get #what(): string {
    return `limiter "${this.name}"`;
  }

  #timeoutOf(timeout: Duration | undefined): number {
    if (timeout === undefined) return Infinity;
    const timeoutMs = parseDuration(timeout, `${this.#what}: timeout`);
    if (timeoutMs > 0) return timeoutMs;
    throw invalidArgument(
      `${this.#what}: timeout must be greater than zero; got ${showValue(timeout)}.`,
    );
  }
}

/** Defines a limiter. Register it in every process that runs orchestrations which use it. */
export function limiter(name: string, options: LimiterOptions): Limiter {
  parseName(name, "limiter name");
  parseInstanceId(name);
  const what = `limiter "${name}"`;
  const bytes = Buffer.byteLength(name);
  if (bytes > NAME_BYTES_MAX) {
    throw invalidArgument(
      `${what}: name must have at most ${NAME_BYTES_MAX} bytes in UTF-8; got ${bytes}.`,
    );
  }
  return new Limiter(name, ruleOf(options, what));
}
