// Repeats: what a request with an Idempotency-Key was told, told again to whoever repeats it.
//   RP1. The same key, caller and route get the first outcome, also while it is still under way; with another body
//        they are refused (KEY_REUSED).
//   RP2. A refusal is not kept: it had no effect, and asking again is a new question.
//   RP3. Kept in this process, at most REPEATS_MAX outcomes for LIFE_MS. What must outlive that is in the store:
//        starts, events, restarts and forks carry the key as their request id; all else may be repeated as it is.

import { hash } from "node:crypto";
import { Refusal } from "./problems.ts";

const REPEATS_MAX = 1_000;
const LIFE_MS = 3_600_000;
/** Of an outcome; a larger one is not kept. */
const CHARS_MAX = 65_536;

/** An answer that can be told twice. */
export interface Outcome {
  readonly status: number;
  readonly text: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The instance that it made. */
  readonly made?: string;
}
interface Kept {
  readonly fingerprint: string;
  readonly outcome: Promise<Outcome>;
  readonly until: number;
}

export class Repeats {
  readonly #kept = new Map<string, Kept>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  async once(
    request: {
      readonly caller: string;
      readonly place: string;
      readonly key: string;
      readonly body: unknown;
    },
    act: () => Promise<Outcome>,
  ): Promise<{ readonly outcome: Outcome; readonly replayed: boolean }> {
    const name = JSON.stringify([request.caller, request.place, request.key]);
    const fingerprint = hash("sha256", JSON.stringify(request.body) ?? "", "base64url");
    const earlier = this.#kept.get(name);
    if (earlier !== undefined && earlier.until > this.#now()) {
      if (earlier.fingerprint !== fingerprint) throw new Refusal("KEY_REUSED");
      return { outcome: await earlier.outcome, replayed: true };
    }
    const outcome = act();
    this.#keep(name, { fingerprint, outcome, until: this.#now() + LIFE_MS });
    const forget = (): void => {
      if (this.#kept.get(name)?.outcome === outcome) this.#kept.delete(name);
    };
    outcome.then(({ text }) => {
      if ((text?.length ?? 0) > CHARS_MAX) forget();
    }, forget);
    return { outcome: await outcome, replayed: false };
  }

  #keep(name: string, kept: Kept): void {
    this.#kept.delete(name);
    if (this.#kept.size >= REPEATS_MAX) {
      const oldest = this.#kept.keys().next().value;
      if (oldest !== undefined) this.#kept.delete(oldest);
    }
    this.#kept.set(name, kept);
  }
}
