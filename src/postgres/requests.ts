// Requests: the ids that callers gave their calls, and what came of them.
//   R1. A row is written with the effect it stands for, and lives as long as its instance (semantics 18a, but R3).
//   R2. A refusal leaves no row: it had no effect, and asking again is a new question.
//   R3. Ids of sends that nobody chose go sooner: when their instance continues as new, and they are older than
//       MADE_UP_KEPT_MS by the store's clock. Nobody repeats them then (request-ids.ts). They are a range of the primary
//       key, looked for by the turns that continue as new and by no other.

import type { StartItem, StartResult } from "../core/provider/commit.ts";
import { isOtherRequest, KEY_REUSED } from "../core/provider/results.ts";
import { MADE_UP, MADE_UP_KEPT_MS, madeUpBefore } from "../core/request-ids.ts";
import { plain } from "./column-arrays.ts";
import { integer, textOrNull, word } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import type { Pipeline, Statement } from "./pipeline.ts";

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
  readonly #connection: Connection;
  readonly #insert: Statement;
  readonly #select: Statement;
  readonly #forget: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#insert = connection.prepare(`
      INSERT INTO @requests (instance, kind, id, outcome, execution, digest, created_at, batch)
      VALUES ($1, $2, $3, $4, $5, $6, (SELECT @clock()), 0)`);
    this.#select = connection.prepare(
      "SELECT outcome, execution, digest FROM @requests WHERE instance = $1 AND kind = $2 AND id = $3",
    );
    // No join: a range that stands in the statement would be walked for all instances at once, and joined then.
    this.#forget = connection.prepare(`
      DELETE FROM @requests
      WHERE instance = ANY ($1::bigint[]) AND kind = 'send' AND id >= $2::text AND id < $3::text
        AND created_at < (SELECT @clock()) - ${MADE_UP_KEPT_MS}`);
  }

  async find(statements: Pick<Statements, "run">, key: RequestKey): Promise<RequestOutcome | null> {
    const [row] = await statements.run(this.#select, [key.instance, key.kind, key.id]);
    if (row === undefined) return null;
    return {
      outcome: word(row, "outcome", OUTCOMES),
      execution: integer(row, "execution"),
      digest: textOrNull(row, "digest"),
    };
  }

  /** The result of the first start under this request id; its lease, if it got one, is not handed out again. */
  async findStart(
    statements: Pick<Statements, "run">,
    instance: number,
    { requestId, requestDigest }: StartItem,
  ): Promise<StartResult | null> {
    if (requestId === null) return null;
    const first = await this.find(statements, { instance, kind: "start", id: requestId });
    if (first === null) return null;
    const { outcome, execution, digest } = first;
    if (isOtherRequest(digest, requestDigest)) return KEY_REUSED;
    if (outcome === "existing") return { kind: "existing", key: instance, execution };
    return { kind: "started", key: instance, execution, leased: null };
  }

  async insert(
    statements: Statements,
    key: RequestKey,
    { outcome, execution, digest }: RequestOutcome,
  ): Promise<void> {
    const values = [key.instance, key.kind, key.id, outcome, execution, digest];
    await statements.run(this.#insert, values);
  }

  /** R3: for instances that continue as new. */
  forget(pipeline: Pipeline, instances: readonly number[]): void {
    const end = madeUpBefore(this.#connection.now() - MADE_UP_KEPT_MS);
    pipeline.add(this.#forget, [plain(instances), MADE_UP, end]);
  }
}
