// Local answers: reports answers to askers in this process, from the commit that contains them. So an ask needs no
// read if this process runs the instance.
//   - Only turns of watched instances are observed. Any other item costs nothing.
//   - An asker hears of an answer only after the commit has returned (I13).

import { ChurningMap } from "../collections/churning-map.ts";
import type { NewAnswer } from "../provider/asks.ts";
import type { Pending } from "./pending.ts";

type AnswersWatcher = (answers: readonly NewAnswer[]) => void;

export class LocalAnswers {
  /** By the store's number of the instance. */
  readonly #watchers = new ChurningMap<number, Set<AnswersWatcher>>();
  /** The number of turns with answers that are queued or in flight. */
  readonly #answering = new ChurningMap<number, number>();

  watch(key: number, onAnswers: AnswersWatcher): () => void {
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(onAnswers));
    return () => {
      watchers.delete(onAnswers);
      if (watchers.size === 0) this.#watchers.delete(key);
    };
  }

  isAnswering(key: number): boolean {
    return this.#answering.has(key);
  }

  /** The same item. If it answers requests of a watched instance, the answers also reach the watchers. */
  observe(pending: Pending): Pending {
    const { item } = pending;
    if (this.#watchers.size === 0 || item.kind !== "turn" || item.answers === undefined) {
      return pending;
    }
    const { key, answers } = item;
    if (!this.#watchers.has(key)) return pending;
    this.#answering.set(key, (this.#answering.get(key) ?? 0) + 1);
    return {
      item,
      resolve: (result) => {
        pending.resolve(result);
        this.#over(key, result.kind === "committed" ? answers : []);
      },
      reject: (reason) => {
        pending.reject(reason);
        this.#over(key, []);
      },
    };
  }

  #over(key: number, answers: readonly NewAnswer[]): void {
    const left = (this.#answering.get(key) ?? 1) - 1;
    if (left === 0) this.#answering.delete(key);
    else this.#answering.set(key, left);
    for (const onAnswers of [...(this.#watchers.get(key) ?? [])]) onAnswers(answers);
  }
}
