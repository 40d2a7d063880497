// Instance keys: the keys of instances that are inserted with their first turn (commit.5).
//   - The rows of a first turn name the key, so the key must be known before the round trip that inserts the
//     instance. The sequence of keys decides.
//   - instance-keys.1: While no other process starts instances, this process expects the numbers after the
//     last one that it has seen. The insert takes its numbers from the sequence. If they differ, it refuses the
//     transaction (KEY_TAKEN), and the keys are reserved.
//   - instance-keys.2: A reservation is a separate round trip. After CALM_MIN reservations in a row that found
//     no number taken by another process, the next numbers are expected again.
//   - Keys are not kept in stock: lists are in the order of keys, so a key must not be older than its start.

import type { StartItem } from "../../core/provider/commit.ts";
import { only, text } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";

export interface InstanceKey {
  readonly number: number;
  /** False: the number is expected (instance-keys.1). */
  readonly isReserved: boolean;
}
/** The keys of starts that bring their first turn. A start without a key is written without its turn. */
export type StartKeys = ReadonlyMap<StartItem, InstanceKey>;

export const NO_KEYS: StartKeys = new Map();
/** The reason of a refusal: another process has taken an expected number. */
export const KEY_TAKEN = "another process took the key";
const CALM_MIN = 8;

export class InstanceKeys extends Subject {
  readonly #reserve = this.prepare(
    "SELECT string_agg(nextval('@instance_keys')::text, ',') AS keys FROM generate_series(1, $1::bigint)",
  );
  /** The number after the last one that this process has seen; null: unknown. */
  #next: number | null = null;
  /** How many reservations in a row found no number taken by another process. */
  #calm = 0;

  /** Keys for those of the starts that bring their first turn. One insert must write all starts, in this order. */
  async assign(starts: readonly StartItem[]): Promise<StartKeys> {
    const withTurn = starts.filter(bringsTurn);
    if (withTurn.length === 0) return NO_KEYS;
    const next = this.#next;
    if (next === null || this.#calm < CALM_MIN) {
      const numbers = await this.reserve(withTurn.length);
      return new Map(
        withTurn.flatMap((start, i) => {
          const number = numbers[i];
          return number === undefined ? [] : [[start, { number, isReserved: true }]];
        }),
      );
    }
    return new Map(
      starts.flatMap((start, i) =>
        bringsTurn(start) ? [[start, { number: next + i, isReserved: false }]] : [],
      ),
    );
  }

  /** An instance with this key was inserted. */
  seen(key: number): void {
    this.#next = Math.max(this.#next ?? 0, key + 1);
  }

  /** The insert of starts was refused: it may have taken numbers that this process has not seen. */
  refused(isTaken: boolean): void {
    this.#next = null;
    if (isTaken) this.#calm = 0;
  }

  /** Takes the next numbers of the sequence, in a separate round trip (instance-keys.2). */
  async reserve(count: number): Promise<number[]> {
    const row = only(await this.connection.send(this.#reserve, [count]));
    const numbers = text(row, "keys").split(",").map(Number);
    if (this.#next !== null) this.#calm = numbers[0] === this.#next ? this.#calm + 1 : 0;
    this.#next = null; // the numbers of the sequence decide, even if it was set back
    for (const number of numbers) this.seen(number);
    return numbers;
  }
}

/** Whether the first turn of a start is written with it. A delayed job begins later, by a separate turn (commit.6). */
function bringsTurn({ firstTurn, lease, delayMs, dueAt }: StartItem): boolean {
  if (firstTurn === undefined || lease !== null) return firstTurn !== undefined;
  const owners = new Set(firstTurn.tasks.flatMap((task) => task.lease?.owner ?? []));
  const isDelayed = delayMs !== undefined || dueAt !== undefined;
  return firstTurn.release && !isDelayed && owners.size < 2; // one owner is checked (instance-inserts.2)
}
