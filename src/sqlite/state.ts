// State: what a turn changes of its instance's visible side, written with it (ST1).
//   ST1. The fence of the turn has passed when this runs; nothing here is compared again.
//   ST2. A status that is set counts, whatever it was before; the count outlives executions and restarts.

import type { StatementSync } from "node:sqlite";
import { checksumOf } from "../core/checksum.ts";
import type { StateChange } from "../core/provider/state.ts";
import type { Connection } from "./connection.ts";
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
