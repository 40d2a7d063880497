// Checker: whether calls that overlapped could have been made one after the other (Wing & Gong's search, as Lowe cut it).
//   LC1. Each call takes effect at one moment between its call and its answer: of two calls where one was answered
//        before the other was made, the first takes effect first.
//   LC2. The search takes calls one by one in every order that LC1 allows, as long as the model gives the answer that
//        was given. To have come to the same calls and the same state a second time leads nowhere new.

/** A call that was answered. Times only have to be in the right order; no two moments are the same. */
export interface Operation<Input, Output> {
  readonly input: Input;
  readonly output: Output;
  readonly calledAt: number;
  readonly answeredAt: number;
}

/** States are values: `apply` makes a new one and leaves the old one as it is. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /** The state after it; null: in this state the answer would have been another. */
  apply(state: State, operation: Operation<Input, Output>): State | null;
  /** Equal for states that nobody can tell apart. */
  keyOf(state: State): string;
}

export interface Verdict<Input, Output> {
  readonly isLinearizable: boolean;
  /** An order in which all of them, or as many as in any order that was tried, have the answers they got. */
  readonly order: readonly Operation<Input, Output>[];
  /** How many answers were compared with the model's. */
  readonly tries: number;
}

export function checkHistory<State, Input, Output>(
  history: readonly Operation<Input, Output>[],
  model: Model<State, Input, Output>,
): Verdict<Input, Output> {
  const seen = new Set<string>();
  const taken: number[] = [];
  let longest: readonly number[] = [];
  let tries = 0;

  /** By when the next one has taken effect: the first answer among those that have not. */
  const deadline = (done: bigint): number => {
    let earliest = Infinity;
    for (const [index, { answeredAt }] of history.entries()) {
      if (!has(done, index)) earliest = Math.min(earliest, answeredAt);
    }
    return earliest;
  };

  const search = (state: State, done: bigint): boolean => {
    if (taken.length > longest.length) longest = [...taken];
    if (taken.length === history.length) return true;
    const until = deadline(done);
    for (const [index, operation] of history.entries()) {
      if (has(done, index) || operation.calledAt > until) continue; // LC1
      tries += 1;
      const next = model.apply(state, operation);
      if (next === null) continue;
      const after = done | (1n << BigInt(index));
      const place = `${after} ${model.keyOf(next)}`;
      if (seen.has(place)) continue; // LC2
      seen.add(place);
      taken.push(index);
      if (search(next, after)) return true;
      taken.pop();
    }
    return false;
  };

  const isLinearizable = search(model.initial, 0n);
  const order = longest.flatMap((index) => history[index] ?? []);
  return { isLinearizable, order, tries };
}

/** Whether they have the answers they got when each takes effect as it is called. */
export function holdsInCallOrder<State, Input, Output>(
  history: readonly Operation<Input, Output>[],
  model: Model<State, Input, Output>,
): boolean {
  let state: State | null = model.initial;
  for (const operation of history.toSorted((a, b) => a.calledAt - b.calledAt)) {
    state = model.apply(state, operation);
    if (state === null) return false;
  }
  return true;
}

function has(done: bigint, index: number): boolean {
  return ((done >> BigInt(index)) & 1n) === 1n;
}
