// Fork: a new instance with a copied past (semantics 21a).
//   F1. It is running from the first moment; its rows are the source's, and `copied_until` says how far.
//   F2. No start message tells of it, so a "wake" makes it due.

import { checksumOf } from "../core/checksum.ts";
import type { ForkItem, StartResult } from "../core/provider/commit.ts";
import type { Births } from "./births.ts";
import type { Connection, Statements } from "./connection.ts";
import type { History } from "./history.ts";
import { wakeMessage, type Inbox } from "./inbox.ts";
import type { KeyValues } from "./key-values.ts";
import type { NewsDraft } from "./news.ts";
import { Pipeline, type Statement } from "./pipeline.ts";

const EXECUTION = 1;

export class Forks {
  readonly #births: Births;
  readonly #history: History;
  readonly #inbox: Inbox;
  readonly #keyValues: KeyValues;
  readonly #begin: Statement;

  constructor(
    connection: Connection,
    parts: {
      readonly births: Births;
      readonly history: History;
      readonly inbox: Inbox;
      readonly keyValues: KeyValues;
    },
  ) {
    this.#births = parts.births;
    this.#history = parts.history;
    this.#inbox = parts.inbox;
    this.#keyValues = parts.keyValues;
    this.#begin = connection.prepare(`
      UPDATE @instances SET
        status = 'running', last_event = $1::bigint, copied_until = $1::bigint, last_commit = NULL,
        custom_status = $2::text, status_version = CASE WHEN $2::text IS NULL THEN 0 ELSE 1 END,
        custom_status_checksum = $4::integer
      WHERE key = $3`);
  }

  async fork(statements: Statements, item: ForkItem, news: NewsDraft): Promise<StartResult> {
    const { instance, rows, keyValues, status } = item;
    const birth = new Pipeline();
    const read = this.#births.bear(birth, [{ instance, lease: null, events: [], requestId: null }]);
    await statements.all(birth);
    const born = read().get(instance.id);
    if (born === undefined) return { kind: "refused", code: "INSTANCE_EXISTS" };
    const { key, start } = born;
    const past = new Pipeline();
    const checksum = status === null ? null : checksumOf(status);
    past.add(this.#begin, [rows.at(-1)?.last ?? 0, status, key, checksum]);
    this.#inbox.consume(past, [{ id: start.id, instance: key }]); // F2
    this.#history.append(
      past,
      rows.map((row) => ({ ...row, instance: key, execution: EXECUTION })),
    );
    this.#keyValues.set(
      past,
      keyValues.map(([name, value, updatedAt]) => ({
        instance: key,
        key: name,
        value,
        updated_at: Math.floor(updatedAt),
      })),
    );
    this.#inbox.put(past, [wakeMessage(key, EXECUTION)]);
    await statements.all(past);
    const { name, version } = instance;
    news.due(instance.id, {
      owner: null,
      target: version === null ? name : `${name}@${version}`,
    });
    return { kind: "started", key, execution: EXECUTION, leased: null };
  }
}
