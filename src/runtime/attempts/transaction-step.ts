// A step in its own transaction: the user's statements and the step's outcome commit together (semantics
// 33).
//   - An error of the store is retried for as long as it lasts and does not count as an attempt (P6).
//     Before each retry, the id of the outcome shows whether the transaction was committed after all
//     (I14).
//   - A step that was cancelled, timed out or lost its instance in the meantime is rolled back.

import {
  runAttempt,
  runAttemptNow,
  threw,
  type AttemptResult,
  type FailedResult,
  type UserCode,
} from "../../core/attempts/run-attempt.ts";
import { invalidArgument } from "../../core/checks.ts";
import { backOff } from "../../core/commit/back-off.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import type { StepOutcomeItem } from "../../core/provider/commit.ts";
import type { Provider } from "../../core/provider/provider.ts";

const UNKNOWN = "The transaction was rolled back for no known reason.";

export type TransactionEnd =
  /** Its outcome is in the inbox. */
  | { readonly kind: "completed" }
  /** Another runtime holds the instance now, or the step was cancelled. */
  | { readonly kind: "cancelled" }
  | FailedResult;

export interface TransactionStepOptions extends Omit<UserCode, "fn"> {
  readonly provider: Provider;
  readonly fn: (transaction: unknown) => unknown;
  /** The item to write when the function returned this encoded value. */
  readonly outcome: (output: string) => StepOutcomeItem;
  /** Whether the step was cancelled, timed out or dropped. */
  readonly isOver: () => boolean;
  readonly onStoreError: (error: unknown) => void;
}

export async function runInTransaction(options: TransactionStepOptions): Promise<TransactionEnd> {
  const { provider, codec, isOver, onStoreError } = options;
  if (provider.transact === undefined) {
    const message = `The ${provider.name} store does not support transactions in steps (ctx.tx); use ctx.step instead.`;
    return threw(invalidArgument(message), codec);
  }
  for (let attempt = 0; ; attempt++) {
    const call = new FunctionCall(options);
    try {
      const done = await provider.transact((transaction) => call.enter(transaction));
      if (done.kind === "done") return { kind: "completed" };
      if (done.kind === "refused" || isOver()) return { kind: "cancelled" };
      if (done.why !== undefined) return threw(done.why, codec); // it may have caused the failure of the call
      return call.failure ?? threw(new PerdureError("STORE_INVALID", UNKNOWN), codec);
    } catch (error) {
      if (isOver()) return { kind: "cancelled" };
      onStoreError(error);
      await backOff(provider.environment, attempt);
      if (call.item !== null && (await settled(provider, call.item, onStoreError))) {
        return { kind: "completed" };
      }
    }
  }
}

/** One run of the user's function. */
class FunctionCall {
  readonly #deps: TransactionStepOptions;
  item: StepOutcomeItem | null = null;
  failure: FailedResult | null = null;

  constructor(options: TransactionStepOptions) {
    this.#deps = options;
  }

  enter(transaction: unknown): StepOutcomeItem | null | Promise<StepOutcomeItem | null> {
    const { fn, provider, isOver } = this.#deps;
    if (isOver()) return null; // the step ended while it waited for a connection
    if (provider.transactions === "asynchronous") {
      const ended = runAttempt({ ...this.#deps, fn: () => fn(transaction) });
      return ended.then((result) => this.#ended(result));
    }
    return this.#ended(runAttemptNow({ ...this.#deps, fn: () => synchronous(fn(transaction)) }));
  }

  #ended(result: AttemptResult): StepOutcomeItem | null {
    if (this.#deps.isOver()) return null;
    if (result.kind === "failed") this.failure = result;
    else this.item = this.#deps.outcome(result.output);
    return this.item;
  }
}

/** Refuses a promise: the transaction would end before the promise does. */
function synchronous(value: unknown): unknown {
  if (!(value instanceof Promise)) return value;
  value.catch(() => undefined); // the caller gets the error about the promise, not the promise's own rejection
  throw invalidArgument(
    "The function of ctx.tx must be synchronous on SQLite; it returned a promise.",
  );
}

async function settled(
  provider: Provider,
  item: StepOutcomeItem,
  onStoreError: (error: unknown) => void,
): Promise<boolean> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await provider.settle(item))?.kind === "done";
    } catch (error) {
      onStoreError(error);
      await backOff(provider.environment, attempt);
    }
  }
}
