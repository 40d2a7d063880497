// Kept messages: events for an id that does not exist yet (semantics 18a).
//   K1. They wait in the order in which they came; the start of that id, however it comes about, takes them over
//       before anything that is sent later.
//   K2. A request id is kept once, and stays known to the instance that took its message over.
//   K3. Bounded: KEPT_MAX an id, then refused; older than KEPT_MS they count as gone, and go with the next one
//       that is kept.

import type { StatementSync } from "node:sqlite";
import { checksumOf, isDamaged } from "../core/checksum.ts";
import type { SendItem, SimpleResult } from "../core/provider/commit.ts";
import { DONE, isOtherRequest, KEY_REUSED, LIMIT_EXCEEDED } from "../core/provider/results.ts";
import { integer, integerOrNull, text, textOrNull } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Inbox } from "./inbox.ts";
import type { Requests } from "./requests.ts";

const KEPT_MAX = 1_000;
const KEPT_MS = 7 * 86_400_000;

export class KeptMessages {
  readonly #inbox: Inbox;
  readonly #requests: Requests;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #selectKey: StatementSync;
  readonly #count: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteOld: StatementSync;

  constructor(connection: Connection, inbox: Inbox, requests: Requests) {
    this.#inbox = inbox;
    this.#requests = requests;
    this.#insert = connection.prepare(
      "INSERT INTO kept (id, key, created_at, name, data, checksum, digest) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#select = connection.prepare(
      "SELECT name, data, key, checksum, digest FROM kept WHERE id = ? AND created_at > ? ORDER BY number",
    );
    this.#selectKey = connection.prepare(
      "SELECT digest FROM kept WHERE id = ? AND key = ? AND created_at > ?",
    );
    this.#count = connection.prepare("SELECT count(*) AS kept FROM kept WHERE id = ?");
    this.#delete = connection.prepare("DELETE FROM kept WHERE id = ?");
    this.#deleteOld = connection.prepare("DELETE FROM kept WHERE created_at <= ?");
  }

  keep({ id, name, data, requestId, requestDigest }: SendItem, now: number): SimpleResult {
    this.#deleteOld.run(now - KEPT_MS);
    if (integer(this.#count.get(id) ?? {}, "kept") >= KEPT_MAX) return LIMIT_EXCEEDED;
    const checksum = checksumOf(id, requestId, name, data);
    this.#insert.run(id, requestId, now, name, data, checksum, requestDigest ?? null);
    return DONE;
  }

  /** The result of the first send under this request id; null: there was none. */
  find({ id, requestId, requestDigest }: SendItem, now: number): SimpleResult | null {
    const row = this.#selectKey.get(id, requestId, now - KEPT_MS);
    if (row === undefined) return null;
    return isOtherRequest(textOrNull(row, "digest"), requestDigest) ? KEY_REUSED : DONE;
  }

  /** Into the inbox of the instance that now has that id. */
  handOver(
    instance: { readonly id: string; readonly key: number; readonly execution: number },
    visibleAt: number,
    now: number,
  ): void {
    const { id, key, execution } = instance;
    const rows = this.#select.all(id, now - KEPT_MS);
    if (rows.length === 0) return;
    this.#delete.run(id);
    const messages = rows.map((row) => {
      const message = { name: text(row, "name"), data: text(row, "data"), key: text(row, "key") };
      const checksum = integerOrNull(row, "checksum");
      const isWrong = isDamaged(checksum, id, message.key, message.name, message.data);
      return isWrong ? { ...message, damaged: true as const } : message;
    });
    for (const row of rows) {
      const request = { instance: key, kind: "send", id: text(row, "key") } as const;
      const digest = textOrNull(row, "digest");
      this.#requests.insert(request, { outcome: "done", execution, digest }, now);
    }
    this.#inbox.insertEvents(key, messages, visibleAt);
  }
}
