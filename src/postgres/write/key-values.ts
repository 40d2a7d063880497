// Key-values: the values that an instance publishes under keys.
//   - They belong to the instance, not to one of its executions (provider.state.3).
//   - key-values.1: The changes of a turn apply in the order in which its code made them; only their final
//     result is written.

import { checksumOf } from "../../core/values/checksum.ts";
import type { KeyValueChange } from "../../core/provider/state.ts";
import { ColumnArrays, columns, plain } from "../sql/column-arrays.ts";
import { Subject } from "../connection/subject.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

const VALUES = new ColumnArrays({
  ...columns("bigint", "instance", "updated_at", "checksum"),
  ...columns("text", "key", "value"),
});
const KEYS = new ColumnArrays({ instance: "bigint", key: "text" });

export class KeyValues extends Subject {
  readonly #set = this.prepare(`
    INSERT INTO @kv AS v (instance, key, value, updated_at, checksum)
    SELECT t.instance, t.key, t.value, coalesce(t.updated_at, (SELECT @clock())), t.checksum
    FROM ${VALUES.from("t")}
    ON CONFLICT (instance, key) DO UPDATE SET
      value = excluded.value, updated_at = excluded.updated_at, checksum = excluded.checksum`);
  readonly #delete = this.prepare(`
    DELETE FROM @kv AS v USING ${KEYS.from("t")} WHERE ${indexEquals("v.instance", "t.instance")} AND v.key = t.key`);
  readonly #clear = this.prepare(`
    DELETE FROM @kv AS v USING unnest($1::bigint[]) AS k (key) WHERE ${indexEquals("v.instance", "k.key")}`);

  change(
    pipeline: Pipeline,
    turns: readonly { readonly instance: number; readonly changes: readonly KeyValueChange[] }[],
  ): void {
    const cleared: number[] = [];
    const deleted: { instance: number; key: string }[] = [];
    const values: { instance: number; key: string; value: string; updated_at: null }[] = [];
    for (const { instance, changes } of turns) {
      const { isCleared, last } = outcomeOf(changes);
      if (isCleared) cleared.push(instance);
      for (const [key, value] of last) {
        if (value === null) deleted.push({ instance, key });
        else values.push({ instance, key, value, updated_at: null });
      }
    }
    this.clear(pipeline, cleared);
    if (deleted.length > 0) pipeline.add(this.#delete, KEYS.values(deleted));
    this.set(pipeline, values);
  }

  /** `updated_at` null: now. Each key of an instance must occur at most once. */
  set(
    pipeline: Pipeline,
    values: readonly {
      readonly instance: number;
      readonly key: string;
      readonly value: string;
      readonly updated_at: number | null;
    }[],
  ): void {
    if (values.length === 0) return;
    const summed = values.map(({ instance, key, value, updated_at }) => {
      const checksum = checksumOf(instance, key, value);
      return { instance, key, value, updated_at, checksum };
    });
    pipeline.add(this.#set, VALUES.values(summed));
  }

  clear(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length > 0) pipeline.add(this.#clear, [plain(instances)]);
  }
}

/** The final result of the changes (key-values.1). */
function outcomeOf(changes: readonly KeyValueChange[]): {
  readonly isCleared: boolean;
  readonly last: ReadonlyMap<string, string | null>;
} {
  const last = new Map<string, string | null>();
  let isCleared = false;
  for (const { key, value } of changes) {
    if (key === null) {
      isCleared = true;
      last.clear();
    } else {
      last.set(key, value);
    }
  }
  return { isCleared, last };
}
