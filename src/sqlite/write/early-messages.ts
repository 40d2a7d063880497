// Early messages: events that were sent to an id before an instance with that id exists (semantics 18a).
//   - They wait in the order in which they were sent. The insert of an instance with that id, by a start, a
//     child start or a fork, moves them into its inbox before any later event.
//   - A request id is stored once. The instance that receives the message keeps its request id.
//   - At most EARLY_MESSAGES_MAX wait per id; further ones are refused. An expired message is ignored; a
//     repeated send takes its place (kept.1).

import { checksumOf, isDamaged } from "../../core/values/checksum.ts";
import type { SendItem, SimpleResult } from "../../core/provider/commit.ts";
import { EARLY_MESSAGES_MAX, KEEP_MS } from "../../core/provider/shared/early-messages.ts";
import { DONE, LIMIT_EXCEEDED } from "../../core/provider/results.ts";
import { integer, integerOrNull, text, textOrNull } from "../../sql/columns.ts";
import type { CoveredKept } from "../../sql/parts.ts";
import { lives } from "../../sql/write/early-messages.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Inbox } from "../read/inbox.ts";
import type { Requests } from "./requests.ts";

export class EarlyMessages extends Subject {
  readonly #inbox: Inbox;
  readonly #requests: Requests;
  readonly #insert = this.prepare(`
    INSERT INTO kept (id, key, created_at, name, data, checksum, digest, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  readonly #select = this.prepare(`
    SELECT name, data, key, checksum, digest FROM kept
    WHERE id = ? AND ${lives("kept", "?")} ORDER BY number`);
  readonly #any = this.prepare("SELECT 1 FROM kept LIMIT 1");
  readonly #count = this.prepare(`
    SELECT count(*) AS kept FROM kept WHERE id = ? AND ${lives("kept", "?")}`);
  readonly #delete = this.prepare(`DELETE FROM kept WHERE id = ? AND ${lives("kept", "?")}`);
  readonly #deleteSame = this.prepare("DELETE FROM kept WHERE id = ? AND key = ?");

  constructor(connection: Connection, inbox: Inbox, requests: Requests) {
    super(connection);
    this.#inbox = inbox;
    this.#requests = requests;
  }

  /** For a request id without a living message (`findEarlyMessage`). */
  keep(item: SendItem, now: number): SimpleResult {
    const { id, name, data, requestId, requestDigest = null, keepForMs = KEEP_MS } = item;
    if (integer(this.#count.get(id, now) ?? {}, "kept") >= EARLY_MESSAGES_MAX) {
      return LIMIT_EXCEEDED;
    }
    const checksum = checksumOf(...coveredOfKept({ id, key: requestId, name, data }));
    const expiresAt = now + keepForMs;
    this.#deleteSame.run(id, requestId);
    this.#insert.run(id, requestId, now, name, data, checksum, requestDigest, expiresAt);
    return DONE;
  }

  /** Whether a message waits for one of these ids. */
  waitFor(instances: readonly { readonly id: string }[], now: number): boolean {
    if (this.#any.get() === undefined) return false;
    return instances.some(({ id }) => this.#select.get(id, now) !== undefined);
  }

  /** Moves the messages into the inbox of the instance that now has the id. False: there were none. */
  handOver(
    instance: { readonly id: string; readonly key: number; readonly execution: number },
    visibleAt: number,
    now: number,
  ): boolean {
    const { id, key, execution } = instance;
    const rows = this.#select.all(id, now);
    if (rows.length === 0) return false;
    this.#delete.run(id, now);
    const messages = rows.map((row) => {
      const message = { name: text(row, "name"), data: text(row, "data"), key: text(row, "key") };
      const checksum = integerOrNull(row, "checksum");
      const isWrong = isDamaged(checksum, ...coveredOfKept({ id, ...message }));
      return isWrong ? { ...message, damaged: true as const } : message;
    });
    for (const row of rows) {
      const request = { instance: key, kind: "send", id: text(row, "key") } as const;
      const digest = textOrNull(row, "digest");
      this.#requests.insert(request, { outcome: "done", execution, digest }, now);
    }
    this.#inbox.insertEvents(key, messages, visibleAt);
    return true;
  }
}

/** The values that the checksum of a kept message covers (sql/admin/checksums.ts). */
export function coveredOfKept({ id, key, name, data }: CoveredKept) {
  return [id, key, name, data] as const;
}
