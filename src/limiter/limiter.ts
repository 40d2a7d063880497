// A limiter: bounds how many orchestrations do something at the same time, or within a period, across all processes.
//   - A limiter is an orchestration to the rest of the system: it is registered, paused, listed and shown like one.
//        Each key has a separate instance. The first caller starts it; it ends when it is idle.
//   - An admitted caller runs its work and then releases its slot, whatever the outcome. The caller releases it under
//        `ctx.shield`, so its own cancellation does not prevent that. If the caller ends without a message, the
//        limiter releases the slot (limiter.loop.3).
//   - What a call of `run` does depends only on what is recorded, never on the options of the code that replays it.
//   - Stored names: histories and mailboxes in stores hold the names of the activities (`name/ask`), of the events
//        ("ask", "leave", "gate/<token>") and of the members of their inputs (`gate`, `atOnce`). They come from the
//        former name of limiters, "gate", and must stay: replay compares them (decision 0020).

import type { OrchestrationContext, Task } from "../core/context/types.ts";
import {
  event,
  orchestration,
  type Activity,
  type Orchestration,
  type OrchestrationOptions,
} from "../core/define/definitions.ts";
import { parseDuration, type Duration } from "../core/time/duration.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { parseInstanceId, parseName, showValue } from "../core/ids/ids.ts";
import { checkMembers, type Members, invalidArgument } from "../core/checks.ts";
import {
  admissionOf,
  callerCalls,
  isAdmission,
  limiterCalls,
  RETRY,
  type Admission,
  type CallerCalls,
} from "./calls.ts";
import { limiterLoop } from "./loop.ts";
import { ruleOf, type LimiterOptions, type LimiterRule } from "./rule.ts";
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
/** How often a waiting caller checks that the limiter instance it asked still runs. The interval doubles each time. */
const LOOK_MS = 30_000;
const LOOK_MS_MAX = 600_000;

type AnyContext = Pick<
  OrchestrationContext,
  "waitFor" | "now" | "race" | "run" | "scope" | "shield" | "sleep" | "uuid"
>;

/** What `limiter(…)` returns: an orchestration to register, with `run` for its callers. */
export class Limiter implements Orchestration<LimiterState, void> {
  readonly kind = "orchestration";
  readonly name: string;
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: Orchestration<LimiterState, void>["handler"];
  readonly activities: readonly Activity<never, unknown>[];
  /** The limits. */
  readonly rule: LimiterRule;
  readonly #calls: CallerCalls;
  declare readonly "~types"?: {
    readonly input: (input: LimiterState) => void;
    readonly output: () => void;
    readonly nodes?: () => Record<never, never>;
  };

  constructor(name: string, rule: LimiterRule) {
    const own = limiterCalls(name);
    const { version, options, handler } = orchestration(name, limiterLoop(own), { input: STATE });
    this.name = name;
    this.version = version;
    this.options = options;
    this.handler = handler;
    this.rule = Object.freeze(rule);
    this.#calls = callerCalls(name, rule);
    this.activities = Object.freeze([...Object.values(this.#calls), ...Object.values(own)]);
    Object.freeze(this);
  }

  /**
   * Waits for the admission, runs the work, and releases the slot. Cancelling the task removes the caller from the
   * queue or, after the admission, cancels the work and releases the slot.
   */
  run<T>(ctx: AnyContext, work: () => T | Promise<T>, options: LimiterRunOptions = {}): Task<T> {
    if (typeof work !== "function") {
      throw invalidArgument(`${this.#what}: work must be a function; got ${showValue(work)}.`);
    }
    checkMembers(options, RUN_OPTIONS, `run of ${this.#what}`);
    const gate = this.idOf(options.key); // the stored name of the limiter's instance id
    const timeoutMs = this.#timeoutOf(options.timeout);
    return ctx.scope(async () => {
      const token = ctx.uuid();
      let mustLeave = true; // until the limiter says otherwise: a request may be on its way to it
      try {
        const { holds } = await this.#enter(ctx, { gate, token, timeoutMs });
        mustLeave = holds;
        return await work();
      } finally {
        if (mustLeave) {
          await ctx.shield(() => ctx.run(this.#calls.leave, { gate, token }, { retry: RETRY }));
        }
      }
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

  async #enter(
    ctx: AnyContext,
    { gate, token, timeoutMs }: { gate: string; token: string; timeoutMs: number },
  ): Promise<Admission> {
    const askedAt = ctx.now().getTime();
    const until = askedAt + timeoutMs;
    const admission = event<Admission>(admissionOf(token));
    let run: string | null = null;
    for (let lookMs = LOOK_MS; ; lookMs = Math.min(lookMs * 2, LOOK_MS_MAX)) {
      run = await ctx.run(this.#calls.ask, { gate, token, askedAt, run }, { retry: RETRY });
      const leftMs = Math.max(until - ctx.now().getTime(), 0);
      const first = await ctx.race({
        admission: ctx.waitFor(admission, { details: { limiter: gate }, internal: true }),
        look: ctx.sleep(Math.min(lookMs, leftMs)),
      });
      if (first.key === "admission" && isAdmission(first.value)) return first.value;
      if (ctx.now().getTime() < until) continue;
      throw new PerdureError(
        "TIMEOUT",
        `limiter "${gate}": no slot became free within ${timeoutMs} ms.`,
      );
    }
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
