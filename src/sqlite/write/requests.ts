// Requests: the request ids of sends and starts, on the path of every call (sql/write/requests.ts).

import type { StartItem, StartResult } from "../../core/provider/commit.ts";
import {
  repeatedStart,
  type RequestKey,
  type RequestOutcome,
} from "../../core/provider/shared/requests.ts";
import { GENERATED, GENERATED_KEPT_MS, generatedBefore } from "../../core/ids/request-ids.ts";
import { toRequestOutcome } from "../../sql/rows/requests.ts";
import { Subject } from "../connection/subject.ts";

export class Requests extends Subject {
  readonly #insert = this.prepare("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)");
  readonly #select = this.prepare(`
    SELECT outcome, execution, digest FROM requests WHERE instance = ? AND kind = ? AND id = ?`);
  readonly #forget = this.prepare(`
    DELETE FROM requests
    WHERE instance = ? AND kind = 'send' AND id >= ? AND id < ? AND created_at < ?`);

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

  insert(key: RequestKey, { outcome, execution, digest }: RequestOutcome, now: number): void {
    this.#insert.run(key.instance, key.kind, key.id, outcome, execution, now, digest);
  }

  /** Deletes generated ids of an instance that continues as new (requests.1). */
  forget(instance: number, now: number): void {
    const before = now - GENERATED_KEPT_MS;
    this.#forget.run(instance, GENERATED, generatedBefore(before), before);
  }
}
