// Gates: activities that end when the scenario calls `finish` or `fail`. The scenario decides the order of completions.

import {
  activity,
  type Activity,
  type ActivityContext,
  type ActivityDefaults,
} from "../../../src/index.ts";

interface Visit<I, O> {
  readonly input: I;
  readonly context: ActivityContext;
  readonly resolve: (value: O) => void;
  readonly reject: (error: unknown) => void;
  over: boolean;
}

export class Gate<I = unknown, O = unknown> {
  readonly activity: Activity<I, O>;
  /** Every run of the activity that was entered, in order. */
  readonly visits: Visit<I, O>[] = [];
  readonly #settle: () => Promise<void>;

  constructor(
    name: string,
    options: {
      settle: () => Promise<void>;
      defaults?: ActivityDefaults & { readonly input?: undefined };
    },
  ) {
    this.#settle = options.settle;
    this.activity = activity(
      name,
      (input: I, context: ActivityContext) => this.#enter(input, context),
      options.defaults,
    );
  }

  get inputs(): readonly I[] {
    return this.visits.map((visit) => visit.input);
  }

  /** Inputs of the runs that are still waiting: not finished, failed or aborted. */
  get waiting(): readonly I[] {
    return this.visits.filter((visit) => isWaiting(visit)).map((visit) => visit.input);
  }

  /** The abort reasons of the aborted runs, in the order in which the runs were entered. */
  get aborts(): readonly unknown[] {
    return this.visits
      .filter(({ context }) => context.signal.aborted)
      .map(({ context }) => context.signal.reason as unknown);
  }

  /** Completes the oldest waiting run with that input, then waits until no more work is due. */
  async finish(input: I, value: O): Promise<void> {
    await this.#end(input, (visit) => visit.resolve(value));
  }

  async fail(input: I, error: unknown): Promise<void> {
    await this.#end(input, (visit) => visit.reject(error));
  }

  /** Completes run number `index`, counted from 0, even if it was aborted. */
  async finishVisit(index: number, value: O): Promise<void> {
    await this.#settle();
    const visit = this.visits[index];
    if (visit === undefined) throw new Error(`"${this.activity.name}" has no visit ${index}`);
    visit.over = true;
    visit.resolve(value);
    await this.#settle();
  }

  async #end(input: I, end: (visit: Visit<I, O>) => void): Promise<void> {
    await this.#settle();
    const visit = this.visits.find((each) => isWaiting(each) && isSame(each.input, input));
    if (visit === undefined) {
      const seen = JSON.stringify(this.inputs);
      throw new Error(
        `no waiting run of "${this.activity.name}" has that input; inputs so far: ${seen}`,
      );
    }
    visit.over = true;
    end(visit);
    await this.#settle();
  }

  #enter(input: I, context: ActivityContext): Promise<O> {
    const { promise, resolve, reject } = Promise.withResolvers<O>();
    this.visits.push({ input, context, resolve, reject, over: false });
    return promise;
  }
}

function isWaiting(visit: Visit<unknown, never>): boolean {
  return !visit.over && !visit.context.signal.aborted;
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
