// Activity mocks: replaces the functions of activities in a test and records every run.
//   - Every run of an activity is recorded, mocked or not, in the order in which the runs began.
//   - A mock takes effect with the next run, in every runtime of the environment. A deploy keeps all mocks.
//   - The runtime checks the schemas of an activity around its mock too.
//   - activity-mocks.1: Activities run in this process, whatever their executor option says: a mock cannot
//        replace a function in another thread or process.

import type { ActivityContext } from "../../core/context/activity-context.ts";
import type { Activity } from "../../core/define/definitions.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { CancelledError } from "../../core/errors/outcome-errors.ts";
import type { Definition } from "../../core/define/registrable.ts";
import type { BusyWork } from "./busy-work.ts";

/** Replaces an activity's function. */
export type MockFunction<I, O> = (input: I, ctx: ActivityContext) => O | Promise<O>;
/** One outcome of a sequence: a value, an error that is thrown, or a function that is called. */
export type MockOutcome<I, O> = O | Error | MockFunction<I, O>;
/** The mock of an activity: a function, or a sequence of outcomes. */
export type MockOf<A> = [A] extends [Activity<infer I, unknown>]
  ? [A] extends [Activity<never, infer O>]
    ? MockFunction<I, O> | readonly MockOutcome<I, O>[]
    : never
  : MockFunction<unknown, unknown> | readonly MockOutcome<unknown, unknown>[];

/** One run of an activity. */
export interface ActivityCall<I = unknown, O = unknown> {
  readonly input: I;
  readonly attempt: number;
  readonly instanceId: string;
  /** All attempts of one call have the same key. */
  readonly idempotencyKey: string;
  /** When the run began, by the test's clock. */
  readonly at: Date;
  /** How the run ended. Undefined while the run lasts; stays undefined if its process crashes. */
  readonly outcome:
    | { readonly kind: "value"; readonly value: O }
    | { readonly kind: "error"; readonly error: unknown }
    | undefined;
}

type Handler = (input: unknown, ctx: ActivityContext) => unknown;
type Call = { -readonly [Key in keyof ActivityCall]: ActivityCall[Key] };
/** An activity, or its name. */
export type ActivityReference = Activity<never, unknown> | string;

export class ActivityMocks {
  readonly #busy: BusyWork;
  readonly #now: () => number;
  readonly #wrapped = new WeakMap<Activity<never, unknown>, Activity<never, unknown>>();
  readonly #known = new Set<string>();
  readonly #standIns = new Map<string, Handler>();
  /** Outcomes of the next runs. They come before `#standIns`. */
  readonly #next = new Map<string, Handler[]>();
  readonly #calls = new Map<string, Call[]>();

  constructor(busy: BusyWork, now: () => number) {
    this.#busy = busy;
    this.#now = now;
  }

  /** Returns the definitions with their activities wrapped; a runtime registers the result. */
  wrap(register: readonly Definition[]): readonly Definition[] {
    return register.map((definition) => {
      if (definition.kind === "activity") return this.#wrap(definition);
      if (definition.activities === undefined) return definition;
      const activities = definition.activities.map((each) => this.#wrap(each));
      return { ...definition, activities };
    });
  }

  mock(activity: ActivityReference, fn: Handler): void {
    this.#standIns.set(this.#nameOf(activity), fn);
  }
  unmock(activity: ActivityReference): void {
    const name = this.#nameOf(activity);
    this.#standIns.delete(name);
    this.#next.delete(name);
  }
  /** Sets the outcome of the next run only. Several calls set the outcomes of the next runs, in order. */
  once(activity: ActivityReference, fn: Handler): void {
    const name = this.#nameOf(activity);
    this.#next.set(name, [...(this.#next.get(name) ?? []), fn]);
  }

  /** The next `times` runs throw the error. */
  failTimes(activity: ActivityReference, times: number, error: Error): void {
    const fail = (): never => {
      throw error;
    };
    for (let i = 0; i < times; i++) this.once(activity, fail);
  }
  /** The next run does not end until it is cancelled or times out. */
  hangOnce(activity: ActivityReference): void {
    this.once(activity, (_, { signal }) =>
      this.#busy.idleForever(
        new Promise<never>((_resolve, reject) => {
          const stop = (): void => reject(new CancelledError("the activity was ended"));
          if (signal.aborted) stop();
          else signal.addEventListener("abort", stop, { once: true });
        }),
      ),
    );
  }

  calls(activity: ActivityReference): readonly ActivityCall[] {
    return [...(this.#calls.get(this.#nameOf(activity)) ?? [])];
  }
  /** The number of runs per activity call, by idempotency key. */
  runs(): ReadonlyMap<string, number> {
    const runs = new Map<string, number>();
    for (const { idempotencyKey: key } of [...this.#calls.values()].flat()) {
      runs.set(key, (runs.get(key) ?? 0) + 1);
    }
    return runs;
  }
  /** Whether a run of the activity for this instance has not ended yet. */
  isRunning(instanceId: string, name: string): boolean {
    const calls = this.#calls.get(name) ?? [];
    return calls.some((call) => call.outcome === undefined && call.instanceId === instanceId);
  }

  #nameOf(activity: ActivityReference): string {
    const name = typeof activity === "string" ? activity : activity.name;
    if (this.#known.has(name)) return name;
    const known = [...this.#known].map((each) => `"${each}"`).join(", ") || "none";
    const message = `Activity "${name}" is not registered here; register it. Registered: ${known}.`;
    throw new PerdureError("NOT_REGISTERED", message);
  }

  #wrap(definition: Activity<never, unknown>): Activity<never, unknown> {
    const known = this.#wrapped.get(definition);
    if (known !== undefined) return known;
    const { name } = definition;
    // The definition's types bind its function to its input type; `Handler` takes any input.
    const own = definition.handler as Handler;
    const handler: Handler = (input, context) => this.#enter(name, own, input, context);
    const wrapped: Activity<never, unknown> = {
      ...definition,
      defaults: { ...definition.defaults, executor: "process" },
      handler,
    };
    this.#known.add(name);
    this.#wrapped.set(definition, wrapped);
    return wrapped;
  }

  #enter(name: string, own: Handler, input: unknown, context: ActivityContext): unknown {
    const { attempt, idempotencyKey, info } = context;
    const call: Call = {
      input,
      attempt,
      instanceId: info.instanceId,
      idempotencyKey,
      at: new Date(this.#now()),
      outcome: undefined,
    };
    const calls = this.#calls.get(name) ?? [];
    this.#calls.set(name, calls);
    calls.push(call);
    const fn = this.#next.get(name)?.shift() ?? this.#standIns.get(name) ?? own;
    return this.#busy.run(async () => {
      try {
        const value = await fn(input, context);
        call.outcome = { kind: "value", value };
        return value;
      } catch (error) {
        call.outcome = { kind: "error", error };
        throw error;
      }
    });
  }
}

/** Returns a function that yields one outcome per run. After the last outcome it repeats the last one. */
export function inSequence(outcomes: readonly unknown[]): Handler {
  // Test runners strip types. Without this check a string would count as a sequence of its letters.
  if (!Array.isArray(outcomes) || outcomes.length === 0) {
    const got = Array.isArray(outcomes) ? "an empty array" : kindOf(outcomes);
    const message = `The mock of an activity must be a function or a non-empty array of outcomes; got ${got}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  let at = 0;
  return (input, context) => {
    const outcome = outcomes[Math.min(at++, outcomes.length - 1)];
    if (outcome instanceof Error) throw outcome;
    return typeof outcome === "function" ? (outcome as Handler)(input, context) : outcome;
  };
}

function kindOf(value: unknown): string {
  if (value instanceof Error) return "an Error; pass [error], or call failOnce()";
  return value === null ? "null" : `a value of type ${typeof value}; pass [value]`;
}
