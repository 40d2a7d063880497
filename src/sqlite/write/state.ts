// State: the custom status, attributes and key-values that a turn changes, written with the turn
// (sqlite.state.1).
//   - sqlite.state.1: The turn has passed its fence before this runs; nothing is compared again here.
//   - Setting a status raises its version even if the value stays the same. The version continues across
//     executions and restarts.

import type { StatementSync } from "node:sqlite";
import { checksumOf } from "../../core/values/checksum.ts";
import type { StateChange } from "../../core/provider/state.ts";
import type { Connection } from "../connection/connection.ts";
import type { KeyValues } from "./key-values.ts";

export class State {
  readonly #keyValues: KeyValues;
  readonly #setStatus: StatementSync;
  readonly #setAttributes: StatementSync;

  constructor(connection: Connection, keyValues: KeyValues) {
    this.#keyValues = keyValues;
    this.#setStatus = connection.prepare(`
      UPDATE instances SET
        custom_status = ?, custom_status_checksum = ?, status_version = status_version + 1
      WHERE key = ?`);
    this.#setAttributes = connection.prepare(
      "UPDATE instances SET attributes = ?, attributes_checksum = ? WHERE key = ?",
    );
  }

  change(key: number, { status, attributes, keyValues }: StateChange, now: number): void {
    if (status !== null) {
      const { value } = status;
      this.#setStatus.run(value, value === null ? null : checksumOf(value), key);
    }
    if (attributes !== null) {
      const text = JSON.stringify(attributes);
      this.#setAttributes.run(text, checksumOf(text), key);
    }
    for (const change of keyValues) this.#keyValues.change(key, change, now);
  }
}
