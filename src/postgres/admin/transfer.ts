// Transfer of PostgreSQL: what differs from the other store (sql/admin/transfer.ts).
//   - A list of tags is text[], next to its `tag_set`. The last numbers are those of the sequences.
//   - A batch is sent as one list per column (column-arrays.ts).
//   - OWN_TABLES and OWN_COLUMNS say what is not in the format, and why. A test compares them with the
//       schema.

import { isTerminalStatus, type InstanceStatus } from "../../core/provider/instances.ts";
import { checksumColumns, type Cells } from "../../sql/admin/checksums.ts";
import {
  CELL_TYPES,
  list,
  OWN_COLUMNS as SHARED_COLUMNS,
  type TransferParts,
} from "../../sql/admin/transfer.ts";
import { only, text, textOrNull } from "../../sql/columns.ts";
import { run } from "../../sql/script/script.ts";
import { Statement } from "../../sql/script/statement.ts";
import type { Connection } from "../connection/connection.ts";
import { Pipeline } from "../connection/pipeline.ts";
import { tagColumns } from "../lease/task-rows.ts";
import { ColumnArrays, type ColumnType } from "../sql/column-arrays.ts";
import type { Outbox } from "../transactions/outbox.ts";
import { moveParts } from "./move-lock.ts";

/** Tables that are not moved, and why. */
export const OWN_TABLES: Readonly<Record<string, string>> = {
  meta: "belongs to the schema: schema version, creation time",
  move: "the mark itself",
  store: "the id of the store, which moves with the last numbers",
  attributes: "written by triggers while instances are copied",
  tallies: "maintained by triggers while instances are copied",
  runtimes: "no runtime is registered during a move",
  admissions: "a rate begins again in the target store",
  queue_clocks: "fair order begins again in the target store",
  queue_lanes: "as queue_clocks",
  queue_outcomes: "of the last minute only",
  arrivals: "delivered to the inboxes before the store is marked",
  barred: "fences of lost connections; no connection writes during a move",
};
/** Columns that are not moved, and their values in the target store. */
export const OWN_COLUMNS: Readonly<Record<string, string>> = {
  ...SHARED_COLUMNS,
  failed: "computed from the status",
  tag_set: "computed from the tags",
  batch: "0: its transaction has ended",
};

/** Columns that are not in the format, by table. */
const COMPUTED: Readonly<Partial<Record<string, Readonly<Record<string, ColumnType>>>>> = {
  instances: { failed: "boolean" },
  tasks: { tag_set: "text" },
  requests: { batch: "bigint" },
};
const MESSAGE = ["sequence", "kind", "name", "key", "data"];

const last = (sequence: string): string =>
  `(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM @${sequence})`;
// The next number is one more than the last; without a last number it is 1.
const setLast = (sequence: string): Statement =>
  new Statement(`SELECT setval('@${sequence}', greatest($1::bigint, 1), $1::bigint > 0)`);
const SET_INSTANCES = setLast("instance_keys");
const SET_MESSAGES = setLast("message_ids");
const SET_KEPT = new Statement(`
  SELECT setval(pg_get_serial_sequence('@kept', 'number'), coalesce(max(number), 0) + 1, false)
  FROM @kept`);

export function transferParts(connection: Connection, outbox: Outbox): TransferParts {
  const selectPlace = connection.prepare(`
    SELECT current_database() AS name, host(inet_server_addr()) AS host,
      inet_server_port()::text AS port`);
  return {
    ...moveParts(connection),
    selectNumbers: new Statement(`
      SELECT ${last("instance_keys")} AS instances, ${last("message_ids")} AS messages`),
    covered: { inbox: MESSAGE, kept: MESSAGE },
    async place() {
      const found = only(await connection.read(selectPlace));
      const host = textOrNull(found, "host") ?? "";
      const port = host === "" ? "" : `:${text(found, "port")}`;
      return `postgres://${host.includes(":") ? `[${host}]` : host}${port}/${text(found, "name")} (schema ${connection.schema})`;
    },
    beforeMark: () => outbox.drainAll(),
    *writeNumbers({ instances, messages }) {
      yield* run(SET_INSTANCES, instances);
      yield* run(SET_MESSAGES, messages);
      yield* run(SET_KEPT);
    },
    newStoreId: () => connection.environment.randomHex(16),
    tagCells: (tags) => ({ ...tagColumns(tags) }),
    ownCells(table, cells) {
      if (table === "instances") return { failed: isFailed(cells["status"]) };
      return table === "requests" ? { batch: 0 } : {};
    },
    *insert(table, rows) {
      if (rows.length === 0) return;
      const types: Record<string, ColumnType> = { ...COMPUTED[table.name] };
      for (const name of checksumColumns(table.name)) types[name] = "bigint";
      for (const [name, type] of Object.entries(table.columns)) types[name] = CELL_TYPES[type];
      const arrays = new ColumnArrays(types);
      const names = Object.keys(types);
      const shown = names.map((name) =>
        table.columns[name] === "texts"
          ? `CASE WHEN t."${name}" IS NULL THEN '{}' ELSE ARRAY(SELECT json_array_elements_text(t."${name}"::json)) END`
          : `t."${name}"`,
      );
      const insert = connection.prepare(`
        INSERT INTO @${table.name} (${list(names)}) SELECT ${shown.join(", ")} FROM ${arrays.from("t")}`);
      const pipeline = new Pipeline();
      pipeline.add(insert, arrays.values(rows));
      yield pipeline;
    },
  };
}

function isFailed(status: Cells[string] | undefined): boolean {
  return status !== "completed" && isTerminalStatus(status as InstanceStatus); // the column holds a status
}
