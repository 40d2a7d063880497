// Requests: the request ids of sends, starts and asks, on the path of every call (sql/write/requests.ts).

import type { AskItem, NewAnswer } from "../../core/provider/asks.ts";
import type { StartItem, StartResult } from "../../core/provider/commit.ts";
import type { StoredAsk } from "../../core/provider/shared/asks.ts";
import {
  repeatedStart,
  type RequestKey,
  type RequestOutcome,
} from "../../core/provider/shared/requests.ts";
import { GENERATED, GENERATED_KEPT_MS, generatedBefore } from "../../core/ids/request-ids.ts";
import { checksumOf } from "../../core/values/checksum.ts";
import { ASK_COLUMNS, toRequestOutcome, toStoredAsk } from "../../sql/rows/requests.ts";
import { changed } from "../sql/changed.ts";
import { Subject } from "../connection/subject.ts";

export class Requests extends Subject {
  readonly #insert = this.prepare(`
    INSERT INTO requests (instance, kind, id, outcome, execution, created_at, digest)
    VALUES (?, ?, ?, ?, ?, ?, ?)`);
  readonly #insertAsk = this.prepare(`
    INSERT INTO requests (instance, kind, id, outcome, execution, created_at, digest, asker)
    VALUES (?, 'ask', ?, 'asked', ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  readonly #select = this.prepare(`
    SELECT outcome, execution, digest FROM requests WHERE instance = ? AND kind = ? AND id = ?`);
  readonly #selectAsk = this.prepare(`
    SELECT ${ASK_COLUMNS} FROM requests WHERE instance = ? AND kind = 'ask' AND id = ?`);
  // sql.asks.2 for created_at
  readonly #answer = this.prepare(`
    UPDATE requests SET
      outcome = 'answered', answer = ?3, answer_checksum = ?4, asker = NULL, created_at = ?5
    WHERE instance = ?1 AND kind = 'ask' AND id = ?2 AND outcome = 'asked'`);
  readonly #forget = this.prepare(`
    DELETE FROM requests
    WHERE instance = ? AND kind IN ('send', 'ask') AND id >= ? AND id < ? AND created_at < ?
      AND outcome <> 'asked'`);

  find(key: RequestKey): RequestOutcome | null {
    const row = this.#select.get(key.instance, key.kind, key.id);
    if (row === undefined) return null;
    return toRequestOutcome(row);
  }

  /** The result of the first start with this request id. If that start got a lease, this one gets none. */
  findStart(instance: number, item: StartItem): StartResult | null {
    const { requestId } = item;
    const first = requestId === null ? null : this.find({ instance, kind: "start", id: requestId });
    return first === null ? null : repeatedStart(instance, first, item);
  }

  findAsk(instance: number, requestId: string): StoredAsk | null {
    const row = this.#selectAsk.get(instance, requestId);
    return row === undefined ? null : toStoredAsk(row);
  }

  insert(key: RequestKey, { outcome, execution, digest }: RequestOutcome, now: number): void {
    this.#insert.run(key.instance, key.kind, key.id, outcome, execution, now, digest);
  }

  /** False: the request id belongs to an earlier ask. */
  insertAsk(
    { key, execution }: { readonly key: number; readonly execution: number },
    { requestId, requestDigest, asker }: AskItem,
    now: number,
  ): boolean {
    const waiting = asker === null ? null : JSON.stringify(asker);
    const digest = requestDigest ?? null;
    return changed(this.#insertAsk.run(key, requestId, execution, now, digest, waiting));
  }

  /** Stores an answer. Nothing is stored if the request was withdrawn or is answered already. */
  answer(instance: number, { requestId, answer }: NewAnswer, now: number): void {
    this.#answer.run(instance, requestId, answer, checksumOf(answer), now);
  }

  /** Deletes generated ids of an instance that continues as new (requests.1). */
  forget(instance: number, now: number): void {
    const before = now - GENERATED_KEPT_MS;
    this.#forget.run(instance, GENERATED, generatedBefore(before), before);
  }
}
