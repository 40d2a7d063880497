// State: what a turn changes of its instance's visible side, written with it (ST1).
//   ST1. The fence of the turn has passed when this runs; nothing here is compared again.
//   ST2. A status that is set counts, whatever it was before; the count outlives executions and restarts.

import type { StatementSync } from "node:sqlite";
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
      UPDATE instances SET custom_status = ?, status_version = status_version + 1 WHERE key = ?`);
    this.#setAttributes = connection.prepare("UPDATE instances SET attributes = ? WHERE key = ?");
  }

  change(key: number, { status, attributes, keyValues }: StateChange, now: number): void {
    if (status !== null) this.#setStatus.run(status.value, key);
    if (attributes !== null) this.#setAttributes.run(JSON.stringify(attributes), key);
    for (const change of keyValues) this.#keyValues.change(key, change, now);
  }
}
