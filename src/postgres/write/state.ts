// State: the custom status, attributes and key-values that turns change, written with the turns
// (postgres.state.1).
//   - postgres.state.1: The turn has passed its fence before this runs; nothing is compared again here.
//   - Setting a status raises its version even if the value stays the same. The version continues across
//     executions and restarts.

import { checksumOf } from "../../core/values/checksum.ts";
import type { StateChange } from "../../core/provider/state.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { KeyValues } from "./key-values.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

const CHANGES = new ColumnArrays({
  ...columns("bigint", "key", "status_checksum", "attributes_checksum"),
  sets_status: "boolean",
  ...columns("text", "status", "attributes"),
});

export class State extends Subject {
  readonly #keyValues: KeyValues;
  readonly #change = this.prepare(`
    UPDATE @instances AS i SET
      custom_status = CASE WHEN t.sets_status THEN t.status ELSE i.custom_status END,
      status_version = i.status_version + t.sets_status::int,
      custom_status_checksum =
        CASE WHEN t.sets_status THEN t.status_checksum ELSE i.custom_status_checksum END,
      attributes = coalesce(t.attributes, i.attributes),
      attributes_checksum = coalesce(t.attributes_checksum, i.attributes_checksum)
    FROM ${CHANGES.from("t")} WHERE ${indexEquals("i.key", "t.key")}`);

  constructor(connection: Connection, keyValues: KeyValues) {
    super(connection);
    this.#keyValues = keyValues;
  }

  change(
    pipeline: Pipeline,
    turns: readonly { readonly key: number; readonly state: StateChange }[],
  ): void {
    const rows = turns.flatMap(({ key, state: { status, attributes } }) => {
      if (status === null && attributes === null) return [];
      const sets_status = status !== null;
      const value = status?.value ?? null;
      const text = attributes === null ? null : JSON.stringify(attributes);
      return [
        {
          key,
          sets_status,
          status: value,
          status_checksum: value === null ? null : checksumOf(value),
          attributes: text,
          attributes_checksum: text === null ? null : checksumOf(text),
        },
      ];
    });
    if (rows.length > 0) pipeline.add(this.#change, CHANGES.values(rows));
    const changes = turns.map(({ key, state }) => ({ instance: key, changes: state.keyValues }));
    this.#keyValues.change(pipeline, changes);
  }
}
