// Fork: a new instance with a copied past (semantics 21a).
//   F1. It is running from the first moment; its rows are the source's, and `copied_until` says how far.
//   F2. No start message tells of it, so a "wake" makes it due.

import type { StatementSync } from "node:sqlite";
import { checksumOf } from "../core/checksum.ts";
import type { ForkItem, StartResult } from "../core/provider/commit.ts";
import type { Connection } from "./connection.ts";
import type { History } from "./history.ts";
import type { Inbox } from "./inbox.ts";
import type { Instances } from "./instances.ts";
import type { KeptMessages } from "./kept.ts";
import type { KeyValues } from "./key-values.ts";
import type { Transaction } from "./news.ts";

const EXECUTION = 1;

export class Forks {
  readonly #instances: Instances;
  readonly #history: History;
  readonly #inbox: Inbox;
  readonly #keyValues: KeyValues;
  readonly #kept: KeptMessages;
  readonly #begin: StatementSync;

  constructor(
    connection: Connection,
    parts: {
      readonly instances: Instances;
      readonly history: History;
      readonly inbox: Inbox;
      readonly keyValues: KeyValues;
      readonly kept: KeptMessages;
    },
  ) {
    this.#instances = parts.instances;
    this.#history = parts.history;
    this.#inbox = parts.inbox;
    this.#keyValues = parts.keyValues;
    this.#kept = parts.kept;
    this.#begin = connection.prepare(`
      UPDATE instances SET
        status = 'running', last_event = ?1, copied_until = ?1,
        custom_status = ?2, status_version = iif(?2 IS NULL, 0, 1), custom_status_checksum = ?4
      WHERE key = ?3`);
  }

  fork({ instance, rows, keyValues, status }: ForkItem, transaction: Transaction): StartResult {
    const { now, news } = transaction;
    const key = this.#instances.insert(instance, null, now);
    if (key === null) return { kind: "refused", code: "INSTANCE_EXISTS" };
    const checksum = status === null ? null : checksumOf(status);
    this.#begin.run(rows.at(-1)?.last ?? 0, status, key, checksum);
    for (const row of rows) this.#history.append(key, EXECUTION, row);
    for (const [name, value, updatedAt] of keyValues) {
      this.#keyValues.set(key, { key: name, value, updatedAt: Math.floor(updatedAt) });
    }
    this.#kept.handOver({ id: instance.id, key, execution: EXECUTION }, now, now);
    this.#inbox.insertWake(key, EXECUTION, now);
    news.due(instance.id);
    return { kind: "started", key, execution: EXECUTION, leased: null };
  }
}
