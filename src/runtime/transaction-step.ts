// A step in a transaction of its own: the user's statements and the step's outcome commit together (semantics 33).
//   TR1. An error of the store's is retried for as long as it takes and counts as no attempt (P6); before it is
//        tried again, the outcome's own id tells whether it was written after all (I14).
//   TR2. A step that was cancelled, timed out or lost its instance meanwhile is rolled back.

import { backOff } from "../core/committer.ts";
import type { Codec } from "../core/codec.ts";
import { asyncContext, type WorkFrame } from "../core/async-context.ts";
import { PerdureError } from "../core/errors.ts";
import type { StepOutcomeItem } from "../core/provider/commit.ts";
import type { Provider } from "../core/provider/provider.ts";
import { failedAttempt, type AttemptResult } from "./activity-run.ts";

export type TransactionEnd =
  /** Its outcome waits in the inbox. */
  | { readonly kind: "committed" }
  /** Somebody else has the instance now. */
  | { readonly kind: "lost" }
  | { readonly kind: "failed"; readonly result: AttemptResult };

export interface TransactionStepOptions {
  readonly provider: Provider;
  readonly codec: Codec;
  readonly frame: WorkFrame;
  readonly fn: (transaction: unknown) => unknown;
  /** What is written when the function returned this text. */
  readonly outcome: (output: string) => StepOutcomeItem;
  /** The step is not wanted any more. */
  readonly isOver: () => boolean;
  readonly trouble: (error: unknown) => void;
}

export async function runInTransaction(options: TransactionStepOptions): Promise<TransactionEnd> {
  const { provider, isOver, trouble } = options;
  if (provider.transact === undefined) return failed(options, noTransactions(provider));
  for (let attempt = 0; ; attempt++) {
    const work = new Work(options);
    try {
      const done = await provider.transact((transaction) => work.enter(transaction));
      if (done.kind === "done") return { kind: "committed" };
      if (done.kind === "refused" || isOver()) return { kind: "lost" };
      const why = done.why ?? unknownEnd();
      return { kind: "failed", result: work.failure ?? failedResult(options, why) };
    } catch (error) {
      if (isOver()) return { kind: "lost" };
      trouble(error);
      await backOff(provider.environment, attempt);
      if (work.item !== null && (await settled(provider, work.item, trouble))) {
        return { kind: "committed" };
      }
    }
  }
}

/** One run of the user's function. */
class Work {
  readonly #o: TransactionStepOptions;
  item: StepOutcomeItem | null = null;
  failure: AttemptResult | null = null;

  constructor(options: TransactionStepOptions) {
    this.#o = options;
  }

  enter(transaction: unknown): StepOutcomeItem | null | Promise<StepOutcomeItem | null> {
    const { frame, fn, provider, isOver } = this.#o;
    if (isOver()) return null; // it waited for a connection until nobody wanted it any more
    let value: unknown;
    try {
      value = asyncContext.run(frame, () => fn(transaction));
    } catch (error) {
      return this.#failed(error);
    }
    if (!(value instanceof Promise)) return this.#returned(value);
    if (provider.transactions === "asynchronous") {
      return value.then(
        (returned) => this.#returned(returned),
        (error: unknown) => this.#failed(error),
      );
    }
    value.catch(() => undefined); // it is told about the promise, not about what it came to
    return this.#failed(notSynchronous());
  }

  #returned(value: unknown): StepOutcomeItem | null {
    const { codec, outcome, isOver } = this.#o;
    if (isOver()) return null;
    try {
      this.item = outcome(codec.encode(value));
    } catch (error) {
      return this.#failed(error);
    }
    return this.item;
  }

  #failed(error: unknown): null {
    this.failure = failedResult(this.#o, error);
    return null;
  }
}

async function settled(
  provider: Provider,
  item: StepOutcomeItem,
  trouble: (error: unknown) => void,
): Promise<boolean> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await provider.settle(item))?.kind === "done";
    } catch (error) {
      trouble(error);
      await backOff(provider.environment, attempt);
    }
  }
}

function failedResult({ codec }: TransactionStepOptions, error: unknown): AttemptResult {
  return failedAttempt(error, codec);
}

function failed(options: TransactionStepOptions, error: PerdureError): TransactionEnd {
  return { kind: "failed", result: failedResult(options, error) };
}

function noTransactions(provider: Provider): PerdureError {
  const message = `The store (${provider.name}) shares no transactions: use ctx.step.`;
  return new PerdureError("INVALID_ARGUMENT", message);
}

function notSynchronous(): PerdureError {
  const message = "The function of ctx.tx is synchronous on SQLite: it returned a promise.";
  return new PerdureError("INVALID_ARGUMENT", message);
}

function unknownEnd(): PerdureError {
  return new PerdureError("STORE_INVALID", "The transaction was rolled back for no known reason.");
}
