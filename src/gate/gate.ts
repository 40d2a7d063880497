// A gate: lets orchestrations of all processes through, so many at once, so many in a time.
//   GA1. A gate is an orchestration to everything else: registered, paused, listed and shown like one. Each key has an
//        instance of its own, which begins with the first who asks and ends when nobody does.
//   GA2. Whoever is let in runs his work inside; whatever becomes of it, the place is given back: by himself, shielded
//        from his own cancellation, or by the gate, which finds that he has ended (GL3).
//   GA3. What a passage does is decided by what is recorded, never by the options of the code that replays it.

import type { OrchestrationContext, Task } from "../core/context-types.ts";
import {
  event,
  orchestration,
  type Activity,
  type Orchestration,
  type OrchestrationOptions,
} from "../core/definitions.ts";
import { parseDuration, type Duration } from "../core/duration.ts";
import { PerdureError } from "../core/errors.ts";
import { parseInstanceId, parseName, showValue } from "../core/ids.ts";
import { checkMembers, type Members } from "../core/known-members.ts";
import {
  admissionOf,
  callerCalls,
  gateCalls,
  isAdmission,
  RETRY,
  type Admission,
  type CallerCalls,
} from "./calls.ts";
import { gateLoop } from "./loop.ts";
import { ruleOf, type GateOptions, type GateRule } from "./rule.ts";
import { STATE, type GateState } from "./state.ts";

/** What one passage may be told. */
export interface PassOptions {
  /** Each key has a line, and room, of its own. Default: one for all who name none. */
  readonly key?: string;
  /** How long to wait to be let in; then the passage rejects with `TIMEOUT`. Default: as long as it takes. */
  readonly wait?: Duration;
}

const PASS_OPTIONS: Members<PassOptions> = { key: true, wait: true };
/** An id has 256 bytes: the gate's name, a slash and a key. */
const NAME_BYTES_MAX = 100;
const KEY_BYTES_MAX = 155;
/** How often a caller who waits looks whether the gate that he asked is still there. */
const LOOK_MS = 30_000;
const LOOK_MS_MAX = 600_000;

type AnyContext = Pick<
  OrchestrationContext,
  "event" | "now" | "race" | "run" | "scope" | "shield" | "sleep" | "uuid"
>;

/** A gate, as `gate(…)` makes it: an orchestration to register, and the way through it. */
export class Gate implements Orchestration<GateState, void> {
  readonly kind = "orchestration";
  readonly name: string;
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: Orchestration<GateState, void>["handler"];
  readonly activities: readonly Activity<never, unknown>[];
  /** How much it lets pass. */
  readonly rule: GateRule;
  readonly #calls: CallerCalls;
  declare readonly "~types"?: {
    readonly input: (input: GateState) => void;
    readonly output: () => void;
    readonly nodes?: () => Record<never, never>;
  };

  constructor(name: string, rule: GateRule) {
    const own = gateCalls(name);
    const { version, options, handler } = orchestration(name, gateLoop(own), { input: STATE });
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
   * Waits to be let in, runs the work, and leaves. Cancelling the task gives up the place in line, or cancels the work
   * and leaves.
   */
  run<T>(ctx: AnyContext, work: () => T | Promise<T>, options: PassOptions = {}): Task<T> {
    if (typeof work !== "function") {
      throw invalid(`The work of gate "${this.name}" is a function, not ${showValue(work)}.`);
    }
    checkMembers(options, PASS_OPTIONS, `a passage of gate "${this.name}"`);
    const gate = this.idOf(options.key);
    const waitMs = this.#waitOf(options.wait);
    return ctx.scope(async () => {
      const token = ctx.uuid();
      let isInside = true; // as far as the gate knows: a question may be on its way
      try {
        const { holds } = await this.#enter(ctx, { gate, token, waitMs });
        isInside = holds;
        return await work();
      } finally {
        if (isInside) {
          await ctx.shield(() => ctx.run(this.#calls.leave, { gate, token }, { retry: RETRY }));
        }
      }
    });
  }

  /** The instance that keeps the line of that key. */
  idOf(key?: string): string {
    if (key === undefined) return this.name;
    const given: unknown = key;
    if (typeof given !== "string" || given === "" || Buffer.byteLength(given) > KEY_BYTES_MAX) {
      const rule = `a text of 1 to ${KEY_BYTES_MAX} bytes in UTF-8`;
      throw invalid(`A key of gate "${this.name}" is ${rule}, not ${showValue(given)}.`);
    }
    return parseInstanceId(`${this.name}/${key}`);
  }

  #waitOf(wait: Duration | undefined): number {
    if (wait === undefined) return Infinity;
    const waitMs = parseDuration(wait, `wait at gate "${this.name}"`);
    if (waitMs > 0) return waitMs;
    throw invalid(`wait at gate "${this.name}" is longer than nothing: to ask takes time, too.`);
  }

  async #enter(
    ctx: AnyContext,
    { gate, token, waitMs }: { gate: string; token: string; waitMs: number },
  ): Promise<Admission> {
    const askedAt = ctx.now().getTime();
    const until = askedAt + waitMs;
    const admission = event<Admission>(admissionOf(token));
    let run: string | null = null;
    for (let lookMs = LOOK_MS; ; lookMs = Math.min(lookMs * 2, LOOK_MS_MAX)) {
      run = await ctx.run(this.#calls.ask, { gate, token, askedAt, run }, { retry: RETRY });
      const leftMs = Math.max(until - ctx.now().getTime(), 0);
      const first = await ctx.race({
        admission: ctx.event(admission, { details: { gate }, internal: true }),
        look: ctx.sleep(Math.min(lookMs, leftMs)),
      });
      if (first.key === "admission" && isAdmission(first.value)) return first.value;
      if (ctx.now().getTime() < until) continue;
      throw new PerdureError("TIMEOUT", `Gate "${gate}" did not open within ${waitMs} ms.`);
    }
  }
}

/** Defines a gate. Register it wherever orchestrations run that pass it. */
export function gate(name: string, options: GateOptions): Gate {
  parseName(name, "gate name");
  parseInstanceId(name);
  const what = `gate "${name}"`;
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) {
    throw invalid(`The name of ${what} is longer than ${NAME_BYTES_MAX} bytes in UTF-8.`);
  }
  return new Gate(name, ruleOf(options, what));
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
