// Asks: reads what became of requests to one instance (provider.asks).

import type { AskRecord, AskRecords, AskState } from "../../core/provider/asks.ts";
import { isTerminalStatus, type InstanceStatus } from "../../core/provider/instances.ts";
import { ASK_OUTCOMES } from "../../core/provider/shared/asks.ts";
import { INSTANCE_STATUSES } from "../../core/provider/shared/row-checks.ts";
import { integer, text, textOrNull, word, type Row } from "../columns.ts";
import { indexEquals } from "../index-lookup.ts";
import { hasDamagedAnswer } from "../rows/requests.ts";
import { run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

// An instance without any of these asks is one row without a request id.
const SELECT = new Statement(`
  SELECT i.key, i.status, r.id AS request, r.outcome, r.answer, r.answer_checksum
  FROM @instances AS i LEFT JOIN @requests AS r
    ON ${indexEquals("r.instance", "i.key")} AND r.kind = 'ask' AND r.id = ANY ($2::text[])
  WHERE i.id = $1`);

export function* readAsks(id: string, requestIds: readonly string[]): Script<AskRecords | null> {
  const rows = yield* run(SELECT, id, requestIds);
  const [instance] = rows;
  if (instance === undefined) return null;
  const status = word(instance, "status", INSTANCE_STATUSES);
  const asks = rows.flatMap((row) => (row["request"] === null ? [] : toAskRecord(row, status)));
  return { key: integer(instance, "key"), asks };
}

function toAskRecord(row: Row, status: InstanceStatus): AskRecord {
  const record = {
    requestId: text(row, "request"),
    state: stateOf(row, status),
    answer: textOrNull(row, "answer"),
  };
  return hasDamagedAnswer(row) ? { ...record, damaged: true } : record;
}

function stateOf(row: Row, status: InstanceStatus): AskState {
  const outcome = word(row, "outcome", ASK_OUTCOMES);
  if (outcome !== "asked") return outcome;
  return isTerminalStatus(status) ? "finished" : "open";
}
