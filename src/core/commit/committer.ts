// Group commit: writes many items in one transaction. Items submitted during a commit join the next group.
//   - committer.1: The provider writes one group at a time, so items of one instance keep their order (P7).
//       The next group leaves when the provider has written the previous one, even if that one is not on disk
//       yet.
//   - committer.2: The number of items and their bytes bound a group (queue.ts). Further items wait for the
//       next group.
//   - committer.3: A failed commit is not reported to the callers. The committer settles each item by its id
//        (I14) and commits the unwritten items again, with backoff and jitter, until the store accepts them
//        (P6). Only a store that was opened for reading rejects them, because no retry can succeed.
//   - A caller's promise resolves after the commit that contains its item has returned (I13).
//   - committer.4: An item blocked by a lock outside Perdure is retried alone, so it does not delay its group
//        (semantics 32).
//   - committer.5: With a remote store, the next group leaves before this process handles the results of the
//        previous group, so that the store and the process work concurrently. Results are handled in the
//        order of the groups.
//   - committer.6: With a remote store, an item whose instances no other item can name does not join a group. The store
//        writes it concurrently with the groups, so that a large item does not delay them.

import { ChurningSet } from "../collections/churning-map.ts";
import { invalidArgument } from "../checks.ts";
import { isPerdureError } from "../errors/errors.ts";
import { backOff } from "./back-off.ts";
import { LocalEnds, type InstanceEnd } from "./local-ends.ts";
import { LocalAnswers } from "./local-answers.ts";
import { LocalTurns } from "./local-turns.ts";
import { answerCallers, closed, rejectAll, type Pending } from "./pending.ts";
import { CommitQueue } from "./queue.ts";
import { StartOrder } from "./start-order.ts";
import type { Environment } from "../time/environment.ts";
import type {
  CommitItem,
  CommitResult,
  ResultOf,
  StartItem,
  StartResult,
} from "../provider/commit.ts";
import type { EnqueueItem, EnqueueManyItem } from "../provider/enqueue.ts";
import type { StartAdopter } from "./start-adopter.ts";
import type { NewAnswer } from "../provider/asks.ts";
import type { Provider } from "../provider/provider.ts";
import type { RegisteredCode } from "../repair/code-check.ts";

export type CommitErrorListener = (error: unknown, attempt: number) => void;
export type GroupListener = (items: number, durationMs: number, failed: boolean) => void;

export class Committer {
  static readonly #committers = new WeakMap<Provider, Committer>();

  /** The committer of a provider. All runtimes and clients on the provider share it. */
  static of(provider: Provider): Committer {
    let committer = this.#committers.get(provider);
    if (committer === undefined && !isOpenStore(provider)) {
      throw invalidArgument(
        "The provider must be an open store, such as the result of await SqliteProvider.open(path).",
      );
    }
    if (committer === undefined)
      this.#committers.set(provider, (committer = new Committer(provider)));
    return committer;
  }

  readonly adopters = new Set<StartAdopter>();
  /** The code of the runtimes of this process, for repairs. */
  readonly registeredCode = new Set<RegisteredCode>();
  readonly onCommitError = new Set<CommitErrorListener>();
  /** Called after every group with the number of items, the duration and whether the commit failed. */
  readonly onGroup = new Set<GroupListener>();
  readonly #turns = new LocalTurns();
  readonly #ends = new LocalEnds();
  readonly #answers = new LocalAnswers();
  readonly #provider: Provider;
  readonly #environment: Environment;
  readonly #queue = new CommitQueue<Pending>();
  /** queue.5 */
  readonly onTaken = this.#queue.onTaken;
  readonly isAhead = (): boolean => this.#queue.isAhead;
  readonly #startOrder = new StartOrder();
  #scheduled = false;
  /** Whether the provider is writing a group. */
  #busy = false;
  /** The number of groups without results. */
  #groups = 0;
  /**
   * Resolves when the results of the previous group may be handled; null if no results wait (committer.5).
   */
  #resultsDelay: Promise<void> | null = null;
  /** The number of items that are retried alone (committer.4). */
  #alone = 0;
  /** One promise for each group and each item retried alone that has no result yet. */
  readonly #unanswered = new ChurningSet<Promise<void>>();
  #closed = false;

  private constructor(provider: Provider) {
    this.#provider = provider;
    this.#environment = provider.environment;
  }

  submit<Item extends CommitItem>(item: Item): Promise<ResultOf<Item>> {
    return new Promise<CommitResult>((resolve, reject) => {
      const pending = { item, resolve, reject };
      if (!this.#startOrder.holds(item, () => this.#add(pending))) this.#add(pending);
    }) as Promise<ResultOf<Item>>; // the provider returns for each item the result of its kind
  }

  #add(pending: Pending): void {
    if (this.#closed) return pending.reject(closed());
    this.#queue.add(pending.item, this.#answers.observe(this.#ends.observe(pending)));
    this.#schedule();
  }

  /** Starts an instance. If a runtime in this process takes it, the insert includes that runtime's lease. */
  start(item: StartItem): Promise<StartResult> {
    if (this.adopters.size === 0) return this.submit(item);
    const prepared = this.#startOrder.begin(item.id);
    for (const adopter of this.adopters) {
      const { promise, resolve } = Promise.withResolvers<StartResult>();
      const write = (adopted: StartItem): void => {
        const queueOthers = this.#startOrder.end(prepared);
        resolve(this.#startAdopted(adopter, adopted)); // queues the start
        queueOthers();
      };
      try {
        if (adopter.adopt(item, write)) return promise;
      } catch (error) {
        this.#startOrder.end(prepared)();
        throw error;
      }
    }
    const queueOthers = this.#startOrder.end(prepared);
    const result = this.submit(item);
    queueOthers();
    return result;
  }

  /**
   * Writes jobs by key or in bulk. The runtimes in this process learn when they become due. `isIndependent`: no other
   * item names the same instances (committer.6).
   */
  async enqueue<Item extends EnqueueItem | EnqueueManyItem>(
    item: Item,
    { isIndependent = false }: { readonly isIndependent?: boolean } = {},
  ): Promise<ResultOf<Item>> {
    const bypasses = isIndependent && this.#provider.isRemote === true;
    const result = await (bypasses ? this.#submitIndependent(item) : this.submit(item));
    for (const adopter of this.adopters) adopter.enqueued(item);
    return result;
  }

  /** committer.6 */
  #submitIndependent<Item extends CommitItem>(item: Item): Promise<ResultOf<Item>> {
    return new Promise<CommitResult>((resolve, reject) => {
      if (this.#closed) reject(closed());
      else this.#track(this.#commitIndependent({ item, resolve, reject }));
    }) as Promise<ResultOf<Item>>; // as in submit
  }

  async #commitIndependent(pending: Pending): Promise<void> {
    this.#groups += 1;
    try {
      for (const busy of await this.#commit([pending])) this.#track(this.#commitAlone(busy));
    } finally {
      this.#groups -= 1;
    }
  }

  async #startAdopted(adopter: StartAdopter, item: StartItem): Promise<StartResult> {
    try {
      const result = await this.submit(item);
      adopter.settled(item, result);
      return item.firstTurn?.change.kind === "ended" ? withoutDue(result) : result;
    } catch (error) {
      adopter.settled(item, { kind: "refused", code: "INSTANCE_EXISTS" });
      throw error;
    }
  }

  /**
   * Commits the queued items now instead of in the next macrotask. False if none wait or a commit is in
   * flight.
   */
  flush(): boolean {
    if (this.#busy || this.#queue.length === 0) return false;
    this.#track(this.#commitGroups());
    return true;
  }

  /**
   * Resolves when all items submitted before this call have results, and their callers have handled the
   * results.
   */
  async whenAnswered(): Promise<void> {
    const next = this.#queue.added;
    const macrotask = (): Promise<void> =>
      new Promise((resolve) => this.#environment.immediate(resolve));
    while (this.#queue.holdsBefore(next)) {
      await (this.#unanswered.size > 0 ? Promise.race(this.#unanswered) : macrotask());
    }
    await Promise.all(this.#unanswered);
    await macrotask();
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#unanswered.delete(tracked));
    this.#unanswered.add(tracked);
  }

  /** Whether no item is queued or in flight, and no start is being prepared. */
  get isIdle(): boolean {
    const { length } = this.#queue;
    return this.#groups === 0 && this.#alone === 0 && length === 0 && this.#startOrder.size === 0;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    for (const pending of this.#queue.takeAll()) pending.reject(closed());
  }

  #schedule(): void {
    if (this.#scheduled || this.#busy) return;
    this.#scheduled = true;
    this.#environment.immediate(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  async #commitGroups(): Promise<void> {
    this.#busy = true;
    this.#groups += 1;
    const group = this.#queue.takeGroup();
    let isOver = false;
    const over = (): boolean => {
      if (isOver) return false;
      isOver = true;
      this.#busy = false;
      if (this.#provider.isRemote === true) return this.flush();
      if (this.#queue.length > 0) this.#schedule();
      return false;
    };
    try {
      for (const pending of await this.#commit(group, over))
        this.#track(this.#commitAlone(pending));
    } finally {
      this.#groups -= 1;
      over();
    }
  }

  /** committer.4 */
  async #commitAlone(pending: Pending): Promise<void> {
    this.#alone += 1;
    let busy: readonly Pending[] = [pending];
    for (let attempt = 0; busy.length > 0; attempt++) {
      await backOff(this.#environment, attempt);
      if (this.#closed) {
        rejectAll(busy);
        break;
      }
      busy = await this.#commit(busy);
    }
    this.#alone -= 1;
  }

  /**
   * Returns the items that a lock outside Perdure blocks (committer.4). `over` is called when the group is
   * written, before the callers receive their results. It returns whether another group left.
   */
  async #commit(
    group: readonly Pending[],
    over: () => boolean = () => false,
  ): Promise<readonly Pending[]> {
    let waiting = group;
    for (let attempt = 0; waiting.length > 0; attempt++) {
      try {
        const results = await this.#write(waiting, over);
        await this.#letNextGroupLeave(over);
        const busy = answerCallers(waiting, results);
        this.#turns.written(waiting, results);
        return busy;
      } catch (error) {
        if (this.#closed) return rejectAll(waiting);
        if (isPerdureError(error, "STORE_READ_ONLY")) return rejectAll(waiting, error);
        for (const listener of this.onCommitError) listener(error, attempt + 1);
        await backOff(this.#environment, attempt);
        if (this.#closed) return rejectAll(waiting);
        waiting = await this.#settle(waiting);
      }
    }
    return [];
  }

  /**
   * Calls `onEnd` when this committer has written the turn that ends the instance, so that a waiter in
   * this process needs no read. Null: the store refused the turn, or it is unknown whether it was written.
   */
  watchEnd(key: number, onEnd: (end: InstanceEnd | null) => void): () => void {
    return this.#ends.watch(key, onEnd);
  }

  /** Whether a turn that ends the instance is queued or in flight here. `onEnd` will report its result. */
  isEnding(key: number): boolean {
    return this.#ends.isEnding(key);
  }

  /** Calls `onAnswers` when this committer has written answers of the instance. */
  watchAnswers(key: number, onAnswers: (answers: readonly NewAnswer[]) => void): () => void {
    return this.#answers.watch(key, onAnswers);
  }

  /** Whether a turn with answers is queued or in flight here. `onAnswers` will report its result. */
  isAnswering(key: number): boolean {
    return this.#answers.isAnswering(key);
  }

  /** Calls `onTurn` after every turn and every failed attempt of an instance that this committer writes. */
  watchTurns(key: number, onTurn: () => void): () => void {
    return this.#turns.watch(key, onTurn);
  }

  async #write(group: readonly Pending[], onWritten: () => void): Promise<readonly CommitResult[]> {
    const items = group.map(({ item }) => item);
    if (this.onGroup.size === 0) return this.#send(items, onWritten);
    const began = this.#environment.monotonic();
    let failed = true;
    try {
      const results = await this.#send(items, onWritten);
      failed = false;
      return results;
    } finally {
      const durationMs = this.#environment.monotonic() - began;
      for (const listener of this.onGroup) listener(items.length, durationMs, failed);
    }
  }

  #send(items: readonly CommitItem[], onWritten: () => void): Promise<readonly CommitResult[]> {
    if (this.#provider.isRemote === true) return this.#provider.commit(items);
    const began = this.#environment.monotonic();
    const results = this.#provider.commit(items, onWritten);
    this.#queue.tookMs(this.#environment.monotonic() - began);
    return results;
  }

  /** The items of a failed commit that the store has not written. */
  async #settle(group: readonly Pending[]): Promise<readonly Pending[]> {
    const unwritten: Pending[] = [];
    for (const [index, pending] of group.entries()) {
      for (let attempt = 0; ; attempt++) {
        try {
          const result = await this.#provider.settle(pending.item);
          if (result === null) unwritten.push(pending);
          else answerCallers([pending], [result]);
          break;
        } catch (error) {
          if (this.#closed) {
            rejectAll([...unwritten, ...group.slice(index)]);
            return [];
          }
          for (const listener of this.onCommitError) listener(error, attempt + 1);
          await backOff(this.#environment, attempt);
        }
      }
    }
    return unwritten;
  }

  /**
   * committer.5: gives the next group a macrotask to leave, and waits until the results of earlier groups are
   * handled.
   */
  async #letNextGroupLeave(over: () => boolean): Promise<void> {
    const before = this.#resultsDelay;
    if (over()) {
      const waits = new Promise<void>((resolve) => this.#environment.immediate(resolve));
      this.#resultsDelay = Promise.all([before, waits]).then(() => undefined);
      await this.#resultsDelay;
    } else if (before !== null) {
      await before;
      if (this.#resultsDelay === before) this.#resultsDelay = null;
    }
  }
}

/** For the caller of a start whose first turn has ended the instance: the instance is not running here. */
function withoutDue(result: StartResult): StartResult {
  if (result.kind !== "started") return result;
  const { kind, key, execution, leased } = result;
  return { kind, key, execution, leased };
}

/** The usual cause of a false result is a provider whose `open` was not awaited. */
function isOpenStore(provider: Partial<Provider> | null | undefined): boolean {
  return typeof provider?.commit === "function" && provider.environment !== undefined;
}
