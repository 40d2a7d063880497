// Key-values: the values that an instance publishes under keys.
//   - They belong to the instance, not to one of its executions (provider.state.3).
//   - The changes of a turn apply in the order in which its code made them.

import { checksumOf } from "../../core/values/checksum.ts";
import type { KeyValueChange, KeyValueRecord } from "../../core/provider/state.ts";
import { Subject } from "../connection/subject.ts";

export class KeyValues extends Subject {
  readonly #set = this.prepare("INSERT OR REPLACE INTO kv VALUES (?, ?, ?, ?, ?)");
  readonly #delete = this.prepare("DELETE FROM kv WHERE instance = ? AND key = ?");
  readonly #clear = this.prepare("DELETE FROM kv WHERE instance = ?");

  change(instance: number, { key, value }: KeyValueChange, now: number): void {
    if (key === null) this.clear(instance);
    else if (value === null) this.#delete.run(instance, key);
    else this.set(instance, { key, value, updatedAt: now });
  }

  set(instance: number, { key, value, updatedAt }: KeyValueRecord): void {
    this.#set.run(instance, key, value, updatedAt, checksumOf(instance, key, value));
  }

  clear(instance: number): void {
    this.#clear.run(instance);
  }
}
