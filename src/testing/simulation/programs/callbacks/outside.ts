// Outside: what the world outside the store knows of a run: the tokens that activities handed out, and the calls that
// clients made with them.
//   - outside.1: A call is noted before it is made. Its answer stays null if its process crashes: the store may or may
//        not have executed the call.

/** A token that an activity has handed out. */
export interface Given {
  readonly key: string;
  /** What the token completes: a callback or a call of an activity. Tokens of further attempts complete the same. */
  readonly target: string;
  readonly token: string;
}

/** A call of a client. */
export interface MadeCall {
  readonly kind: "complete" | "fail" | "heartbeat";
  readonly value: string;
  readonly key: string;
  readonly target: string;
  /** Milliseconds since the start of the run. */
  readonly beganAt: number;
  /** Null: the answer is not known (outside.1). */
  answer: { readonly kind: "done" | "closed"; readonly at: number } | null;
}

export class Outside {
  readonly #given = new Map<string, Given[]>();
  readonly #calls: MadeCall[] = [];

  /** An activity hands a token out. A repeated attempt of the activity may hand out the same one. */
  give(given: Given): void {
    const known = this.#given.get(given.key) ?? [];
    this.#given.set(given.key, known);
    if (!known.some(({ token }) => token === given.token)) known.push(given);
  }

  /** The tokens of a key, in the order in which they were handed out. */
  given(key: string): readonly Given[] {
    return this.#given.get(key) ?? [];
  }

  begin(call: Omit<MadeCall, "answer">): MadeCall {
    const made: MadeCall = { ...call, answer: null };
    this.#calls.push(made);
    return made;
  }

  /** The calls for a callback or an activity, in the order in which they began. */
  callsFor(target: string): readonly MadeCall[] {
    return this.#calls.filter((call) => call.target === target);
  }
  get targets(): readonly string[] {
    return [...new Set(this.#calls.map(({ target }) => target))];
  }
}
