// Linearizability checker: whether overlapping calls could have run one after the other (the search by Wing and Gong,
// with the pruning by Lowe).
//   - checker.1: Each call takes effect at one moment between its call and its answer. If a call was answered before another
//        one was made, it takes effect first.
//   - checker.2: The search tries calls one by one in every order that checker.1 allows, as long as the model gives the
//        recorded answer. It skips a combination of executed calls and state that it has already visited.

/** An answered call. Only the order of the times matters; all times are different. */
export interface Operation<Input, Output> {
  readonly input: Input;
  readonly output: Output;
  readonly calledAt: number;
  readonly answeredAt: number;
}

/** States are immutable: `apply` returns a new state. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /** The state after the operation; null if the model gives a different answer in this state. */
  apply(state: State, operation: Operation<Input, Output>): State | null;
  /** Equal for equivalent states. */
  keyOf(state: State): string;
}

export interface Verdict<Input, Output> {
  readonly isLinearizable: boolean;
  /** An order that explains all answers, or the longest such order that the search found. */
  readonly order: readonly Operation<Input, Output>[];
  /** How many answers were compared with those of the model. */
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

  /** The latest time at which the next call takes effect: the earliest answer among the remaining calls. */
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
      if (has(done, index) || operation.calledAt > until) continue; // checker.1
      tries += 1;
      const next = model.apply(state, operation);
      if (next === null) continue;
      const after = done | (1n << BigInt(index));
      const visited = `${after} ${model.keyOf(next)}`;
      if (seen.has(visited)) continue; // checker.2
      seen.add(visited);
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

/** Whether the model gives the recorded answers if each call takes effect when it is made. */
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
