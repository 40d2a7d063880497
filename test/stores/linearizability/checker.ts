// Linearizability checker: whether overlapping calls could have run one after the other (the search by Wing and Gong,
// with the pruning by Lowe).
//   - checker.1: Each call takes effect at one moment between its call and its answer. If a call was answered before another
//        one was made, it takes effect first.
//   - The search tries calls one by one in every order that checker.1 allows, as long as the model gives the
//        recorded answer. It tries the call with the earliest answer first.
//   - checker.3: A call without an answer (`answeredAt` is Infinity) takes effect at any time after its call, or never. The
//        search tries it after the answered calls, and ends when all answered calls are in the order.
//   - checker.4: Fewer used calls without an answer leave more of them for later. The search skips a combination of answered
//        calls and state if it has visited it with the same calls without an answer, or with a part of them.
//   - checker.5: An answered read that fits is taken at once, because it restricts no other call.
//   - checker.6: A call without an answer must have an effect: it changes the state, a remaining call may notice the change,
//        and the next call does not lead to the state that it reaches without the change. Otherwise the order without the
//        call explains as much.
//   - checker.7: The search is exponential in the calls without an answer. It gives up after `statesMax` states.

/** A call. Only the order of the times matters; all times except Infinity are different. */
export interface Operation<Input, Output> {
  readonly input: Input;
  readonly output: Output;
  readonly calledAt: number;
  /** Infinity: there is no answer (checker.3). The model must then accept the call in every state. */
  readonly answeredAt: number;
}

/** States are immutable: `apply` returns a new state. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /** The state after the operation; null if the model gives a different answer in this state. */
  apply(state: State, operation: Operation<Input, Output>): State | null;
  /** Equal for equivalent states. */
  keyOf(state: State): string;
  /** True: with this answer, the operation changes no state (checker.5). */
  isRead?(operation: Operation<Input, Output>): boolean;
  /**
   * False: the operation fits and has the same effect with and without the change, even if further calls without an answer
   * come first; or it does not fit with the change (checker.6). Without this function, every operation may notice.
   */
  mayNotice?(
    change: { readonly before: State; readonly after: State },
    operation: Operation<Input, Output>,
  ): boolean;
}

export interface Verdict<Input, Output> {
  /** Undecided: the search gave up (checker.7). */
  readonly result: "linearizable" | "violated" | "undecided";
  /** An order that explains all answers, or the longest order that the search found. */
  readonly order: readonly Operation<Input, Output>[];
  /** How many answers were compared with those of the model. */
  readonly tries: number;
  /** How many combinations of executed calls and state the search visited. */
  readonly states: number;
}

const STATES_MAX = 1_000_000;

export function checkHistory<State, Input, Output>(
  history: readonly Operation<Input, Output>[],
  model: Model<State, Input, Output>,
  { statesMax = STATES_MAX }: { readonly statesMax?: number } = {},
): Verdict<Input, Output> {
  const search = new Search(history, model, statesMax);
  const isExplained = search.from(model.initial);
  const { order, tries, states } = search;
  const failed = states > statesMax ? "undecided" : "violated";
  return { result: isExplained ? "linearizable" : failed, order, tries, states };
}

interface Candidate<Input, Output> {
  readonly operation: Operation<Input, Output>;
  /** The bit in the set of the answered operations, or of the others. */
  readonly bit: bigint;
  readonly isAnswered: boolean;
  /** checker.5 */
  readonly isRead: boolean;
}

/** A point of the search: the calls in the order so far, and the state after them. */
interface Point<State> {
  readonly state: State;
  readonly key: string;
  readonly answered: bigint;
  readonly unanswered: bigint;
  /** The state before the last call, if that call has no answer (checker.6). */
  readonly without: State | null;
}

class Search<State, Input, Output> {
  readonly #model: Model<State, Input, Output>;
  readonly #statesMax: number;
  /** By the time of the answer. */
  readonly #answered: readonly Candidate<Input, Output>[];
  readonly #unanswered: readonly Candidate<Input, Output>[];
  readonly #allAnswered: bigint;
  /** By answered calls and state: sets of used calls without an answer, none a part of another one (checker.4). */
  readonly #visited = new Map<string, bigint[]>();
  readonly #taken: Operation<Input, Output>[] = [];
  order: readonly Operation<Input, Output>[] = [];
  tries = 0;
  states = 0;

  constructor(
    history: readonly Operation<Input, Output>[],
    model: Model<State, Input, Output>,
    statesMax: number,
  ) {
    this.#model = model;
    this.#statesMax = statesMax;
    const candidates = (isAnswered: boolean): Candidate<Input, Output>[] =>
      history
        .filter(({ answeredAt }) => answeredAt < Infinity === isAnswered)
        .toSorted((a, b) => (isAnswered ? a.answeredAt - b.answeredAt : a.calledAt - b.calledAt))
        .map((operation, index) => ({
          ...{ operation, bit: 1n << BigInt(index), isAnswered },
          isRead: isAnswered && (model.isRead?.(operation) ?? false),
        }));
    this.#answered = candidates(true);
    this.#unanswered = candidates(false);
    this.#allAnswered = (1n << BigInt(this.#answered.length)) - 1n;
  }

  /** Whether an order explains all answers. False also if the search gave up. */
  from(state: State): boolean {
    const key = this.#model.keyOf(state);
    return this.#explore({ state, key, answered: 0n, unanswered: 0n, without: null });
  }

  #explore(point: Point<State>): boolean {
    if (this.#taken.length > this.order.length) this.order = [...this.#taken];
    if (point.answered === this.#allAnswered) {
      this.order = [...this.#taken];
      return true;
    }
    const enabled = this.#enabled(point);
    for (const candidate of enabled) {
      if (!candidate.isRead) continue;
      const after = this.#after(point, candidate);
      if (after !== null) return this.#take(candidate, after); // checker.5
    }
    return enabled.some((candidate) => {
      if (candidate.isRead) return false;
      const after = this.#after(point, candidate);
      return after !== null && this.#take(candidate, after);
    });
  }

  /** The calls that may be the next one (checker.1). */
  #enabled({ answered, unanswered }: Point<State>): readonly Candidate<Input, Output>[] {
    const open = this.#answered.filter(({ bit }) => (answered & bit) === 0n);
    const until = open[0]?.operation.answeredAt ?? Infinity;
    const unused = this.#unanswered.filter(({ bit }) => (unanswered & bit) === 0n);
    return [...open, ...unused].filter(({ operation }) => operation.calledAt <= until);
  }

  /** Null: the answer does not fit, or the order is pointless (checker.6). */
  #after(
    point: Point<State>,
    { operation, bit, isAnswered }: Candidate<Input, Output>,
  ): Point<State> | null {
    this.tries += 1;
    const state = this.#model.apply(point.state, operation);
    if (state === null) return null;
    const key = this.#model.keyOf(state);
    if (point.without !== null) {
      const same = this.#model.apply(point.without, operation);
      if (same !== null && this.#model.keyOf(same) === key) return null;
    }
    const { answered, unanswered } = point;
    if (isAnswered) {
      return { state, key, answered: answered | bit, unanswered, without: null };
    }
    if (key === point.key) return null;
    const after = { state, key, answered, unanswered: unanswered | bit, without: point.state };
    return this.#isNoticed(after, { before: point.state, after: state }) ? after : null;
  }

  #isNoticed(
    { answered, unanswered }: Point<State>,
    change: { readonly before: State; readonly after: State },
  ): boolean {
    const model = this.#model;
    if (model.mayNotice === undefined) return true;
    const isLeft = ({ isAnswered, bit }: Candidate<Input, Output>): boolean =>
      ((isAnswered ? answered : unanswered) & bit) === 0n;
    const mayNotice = (candidate: Candidate<Input, Output>): boolean =>
      isLeft(candidate) && model.mayNotice?.(change, candidate.operation) === true;
    return this.#answered.some(mayNotice) || this.#unanswered.some(mayNotice);
  }

  #take({ operation }: Candidate<Input, Output>, point: Point<State>): boolean {
    if (this.states > this.#statesMax || this.#isVisited(point)) return false;
    this.states += 1;
    this.#taken.push(operation);
    const isExplained = this.#explore(point);
    this.#taken.pop();
    return isExplained;
  }

  /** Remembers the point (checker.4). */
  #isVisited({ answered, key, unanswered }: Point<State>): boolean {
    const place = `${answered.toString(36)} ${key}`;
    const sets = this.#visited.get(place) ?? [];
    if (sets.some((set) => isPart(set, unanswered))) return true;
    this.#visited.set(place, [...sets.filter((set) => !isPart(unanswered, set)), unanswered]);
    return false;
  }
}

function isPart(part: bigint, whole: bigint): boolean {
  return (part & ~whole) === 0n;
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
