// Requests: the ids that callers gave their calls, and what came of them.
//   R1. A row is written with the effect it stands for, and lives as long as its instance (semantics 18a, but R3).
//   R2. A refusal leaves no row: it had no effect, and asking again is a new question.
//   R3. Ids of sends that nobody chose go sooner: when their instance continues as new, and they are older than
//       MADE_UP_KEPT_MS by the store's clock. Nobody repeats them then (request-ids.ts). They are a range of the primary
//       key, looked for by the turns that continue as new and by no other.

import type { StatementSync } from "node:sqlite";
import type { StartItem, StartResult } from "../core/provider/commit.ts";
import { isOtherRequest, KEY_REUSED } from "../core/provider/results.ts";
import { MADE_UP, MADE_UP_KEPT_MS, madeUpBefore } from "../core/request-ids.ts";
import { integer, textOrNull, word } from "./columns.ts";
import type { Connection } from "./connection.ts";

const OUTCOMES = ["started", "existing", "done"] as const;

export interface RequestKey {
  readonly instance: number;
  readonly kind: "start" | "send";
  readonly id: string;
}
export interface RequestOutcome {
  readonly outcome: (typeof OUTCOMES)[number];
  readonly execution: number;
  readonly digest: string | null;
}

export class Requests {
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #forget: StatementSync;

  constructor(connection: Connection) {
    this.#insert = connection.prepare("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)");
    this.#select = connection.prepare(
      "SELECT outcome, execution, digest FROM requests WHERE instance = ? AND kind = ? AND id = ?",
    );
    this.#forget = connection.prepare(`
      DELETE FROM requests
      WHERE instance = ? AND kind = 'send' AND id >= ? AND id < ? AND created_at < ?`);
  }

  find(key: RequestKey): RequestOutcome | null {
    const row = this.#select.get(key.instance, key.kind, key.id);
    if (row === undefined) return null;
    return {
      outcome: word(row, "outcome", OUTCOMES),
      execution: integer(row, "execution"),
      digest: textOrNull(row, "digest"),
    };
  }

  /** The result of the first start under this request id; its lease, if it got one, is not handed out again. */
  findStart(instance: number, { requestId, requestDigest }: StartItem): StartResult | null {
    const first = requestId === null ? null : this.find({ instance, kind: "start", id: requestId });
    if (first === null) return null;
    const { outcome, execution, digest } = first;
    if (isOtherRequest(digest, requestDigest)) return KEY_REUSED;
    if (outcome === "existing") return { kind: "existing", key: instance, execution };
    return { kind: "started", key: instance, execution, leased: null };
  }

  insert(key: RequestKey, { outcome, execution, digest }: RequestOutcome, now: number): void {
    this.#insert.run(key.instance, key.kind, key.id, outcome, execution, now, digest);
  }

  /** R3: for an instance that continues as new. */
  forget(instance: number, now: number): void {
    const before = now - MADE_UP_KEPT_MS;
    this.#forget.run(instance, MADE_UP, madeUpBefore(before), before);
  }
}
