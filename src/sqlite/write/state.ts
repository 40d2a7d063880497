// State: the custom status, attributes and key-values that a turn changes, written with the turn
// (sqlite.state.1).
//   - sqlite.state.1: The turn has passed its fence before this runs; nothing is compared again here.
//   - Setting a status raises its version even if the value stays the same. The version continues across
//     executions and restarts.

import { checksumOf } from "../../core/values/checksum.ts";
import type { StateChange } from "../../core/provider/state.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { KeyValues } from "./key-values.ts";

export class State extends Subject {
  readonly #keyValues: KeyValues;
  readonly #setStatus = this.prepare(`
    UPDATE instances SET
      custom_status = ?, custom_status_checksum = ?, status_version = status_version + 1
    WHERE key = ?`);
  readonly #setAttributes = this.prepare(`
    UPDATE instances SET attributes = ?, attributes_checksum = ? WHERE key = ?`);

  constructor(connection: Connection, keyValues: KeyValues) {
    super(connection);
    this.#keyValues = keyValues;
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
