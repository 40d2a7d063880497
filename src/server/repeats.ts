// Repeats: the answer to a request with an Idempotency-Key, given again to a request that repeats it.
//   RP1. A repeated request gets the first answer, also while that is still being made; the same key with another body
//        is refused (KEY_REUSED). What counts as the same request is said in request-binding.ts.
//   RP2. A refusal is not kept: it had no effect, and asking again is a new question.
//   RP3. Kept in this process, at most REPEATS_MAX outcomes for LIFE_MS. What must outlive that is in the store:
//        starts, events, restarts and forks carry the key as their request id; all else may be repeated as it is.
//   RP4. An answer about an instance that has been deleted since, also if its id was taken again, is dropped, and the
//        request is carried out again.

import { PerdureError } from "../core/errors.ts";
import type { RequestBinding } from "./request-binding.ts";

const REPEATS_MAX = 1_000;
const LIFE_MS = 3_600_000;
/** Of an outcome; a larger one is not kept. */
const CHARS_MAX = 65_536;

/** An answer that can be given twice. */
export interface Outcome {
  readonly status: number;
  readonly text: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** When it was given, by the store's clock. */
  readonly at: number;
  /** The instance that it made. */
  readonly made?: string;
}
interface Kept {
  readonly digest: string;
  readonly outcome: Promise<Outcome>;
  readonly until: number;
}

export class Repeats {
  readonly #kept = new Map<string, Kept>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `holds`: whether the instance that an outcome is about is still there. */
  async once(
    { requestId, requestDigest: digest }: RequestBinding,
    act: () => Promise<Outcome>,
    holds: (outcome: Outcome) => Promise<boolean>,
  ): Promise<{ readonly outcome: Outcome; readonly replayed: boolean }> {
    const earlier = this.#kept.get(requestId);
    if (earlier !== undefined && earlier.until > this.#now()) {
      if (earlier.digest !== digest) {
        const message = "The Idempotency-Key was used before, for a request with another body.";
        throw new PerdureError("KEY_REUSED", message);
      }
      const outcome = await earlier.outcome;
      if (await holds(outcome)) return { outcome, replayed: true };
      this.#forget(requestId, earlier.outcome);
      return this.once({ requestId, requestDigest: digest }, act, holds);
    }
    const outcome = act();
    this.#keep(requestId, { digest, outcome, until: this.#now() + LIFE_MS });
    outcome.then(
      ({ text }) => {
        if ((text?.length ?? 0) > CHARS_MAX) this.#forget(requestId, outcome);
      },
      () => this.#forget(requestId, outcome),
    );
    return { outcome: await outcome, replayed: false };
  }

  #forget(requestId: string, outcome: Promise<Outcome>): void {
    if (this.#kept.get(requestId)?.outcome === outcome) this.#kept.delete(requestId);
  }

  #keep(requestId: string, kept: Kept): void {
    this.#kept.delete(requestId);
    if (this.#kept.size >= REPEATS_MAX) {
      const oldest = this.#kept.keys().next().value;
      if (oldest !== undefined) this.#kept.delete(oldest);
    }
    this.#kept.set(requestId, kept);
  }
}
