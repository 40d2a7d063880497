// Requests: the ids that callers gave their calls, and what came of them.
//   R1. A row is written with the effect it stands for, and lives as long as its instance (semantics 18a).
//   R2. A refusal leaves no row: it had no effect, and asking again is a new question.

import type { StartResult } from "../core/provider/commit.ts";
import { integer, word } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import type { Statement } from "./pipeline.ts";

const OUTCOMES = ["started", "existing", "done"] as const;

export interface RequestKey {
  readonly instance: number;
  readonly kind: "start" | "send";
  readonly id: string;
}
export interface RequestOutcome {
  readonly outcome: (typeof OUTCOMES)[number];
  readonly execution: number;
}

export class Requests {
  readonly #insert: Statement;
  readonly #select: Statement;

  constructor(connection: Connection) {
    this.#insert = connection.prepare(`
      INSERT INTO @requests (instance, kind, id, outcome, execution, created_at, batch)
      VALUES ($1, $2, $3, $4, $5, (SELECT @clock()), 0)`);
    this.#select = connection.prepare(
      "SELECT outcome, execution FROM @requests WHERE instance = $1 AND kind = $2 AND id = $3",
    );
  }

  async find(statements: Pick<Statements, "run">, key: RequestKey): Promise<RequestOutcome | null> {
    const [row] = await statements.run(this.#select, [key.instance, key.kind, key.id]);
    if (row === undefined) return null;
    return { outcome: word(row, "outcome", OUTCOMES), execution: integer(row, "execution") };
  }

  /** What the first start under this request id was told; its lease, if it got one, is not handed out again. */
  async findStart(
    statements: Pick<Statements, "run">,
    instance: number,
    requestId: string | null,
  ): Promise<StartResult | null> {
    if (requestId === null) return null;
    const first = await this.find(statements, { instance, kind: "start", id: requestId });
    if (first === null) return null;
    const { outcome, execution } = first;
    if (outcome === "existing") return { kind: "existing", key: instance, execution };
    return { kind: "started", key: instance, execution, leased: null };
  }

  async insert(
    statements: Statements,
    key: RequestKey,
    { outcome, execution }: RequestOutcome,
  ): Promise<void> {
    await statements.run(this.#insert, [key.instance, key.kind, key.id, outcome, execution]);
  }
}
