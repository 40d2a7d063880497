// Requests: the writes of request ids (sql/write/requests.ts).

import type { RequestKey, RequestOutcome } from "../../core/provider/shared/requests.ts";
import { GENERATED, GENERATED_KEPT_MS, generatedBefore } from "../../core/ids/request-ids.ts";
import { plain } from "../sql/column-arrays.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import type { Pipeline } from "../connection/pipeline.ts";

export class Requests extends Subject {
  readonly #insert = this.prepare(`
    INSERT INTO @requests (instance, kind, id, outcome, execution, digest, created_at, batch)
    VALUES ($1, $2, $3, $4, $5, $6, (SELECT @clock()), 0)`);
  // Not a join: PostgreSQL would scan the range for all instances first and join afterwards.
  readonly #forget = this.prepare(`
    DELETE FROM @requests
    WHERE instance = ANY ($1::bigint[]) AND kind IN ('send', 'ask') AND id >= $2::text AND id < $3::text
      AND created_at < (SELECT @clock()) - ${GENERATED_KEPT_MS} AND outcome <> 'asked'`);

  async insert(
    statements: Statements,
    key: RequestKey,
    { outcome, execution, digest }: RequestOutcome,
  ): Promise<void> {
    const values = [key.instance, key.kind, key.id, outcome, execution, digest];
    await statements.run(this.#insert, values);
  }

  /** Deletes generated ids of instances that continue as new (requests.1). */
  forget(pipeline: Pipeline, instances: readonly number[]): void {
    const end = generatedBefore(this.connection.now() - GENERATED_KEPT_MS);
    pipeline.add(this.#forget, [plain(instances), GENERATED, end]);
  }
}
