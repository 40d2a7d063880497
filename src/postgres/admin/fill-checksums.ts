// Fills in the checksums of rows that were written before checksums existed. Part of a migration, in its
// transaction.
//   - Rows are read through a cursor and updated in batches. The cursor does not see the updates, so every
//       row is read once, and at most one batch is in memory.
//   - The lists hold the columns of sql/admin/checksums.ts at the version of this migration. They never change.

import type pg from "pg";
import { checksumOf, type ChecksumPart } from "../../core/values/checksum.ts";

const BATCH = 500;

/** Table, the column that holds the checksum, and what the checksum covers. */
const FILLS = [
  ["history", "checksum", "instance, execution, first, last, data"],
  ["kv", "checksum", "instance, key, value"],
  ["inbox", "checksum", "sequence, kind, name, key, data"],
  ["kept", "checksum", "NULL, 'event', name, key, data"],
  ["arrivals", "checksum", "NULL, 'event', name, request_id, data"],
  ["tasks", "checksum", "instance, execution, sequence, name, session, tags, options, input"],
  ["tasks", "heartbeat_checksum", "heartbeat"],
  ["tasks", "progress_checksum", "progress"],
  ["tasks", "failure_checksum", "last_failure"],
  ["instances", "ending_checksum", "output, error"],
  ["instances", "custom_status_checksum", "custom_status"],
  ["instances", "attributes_checksum", "attributes"],
] as const;

/** Expects the store's schema to be the search path. */
export async function fillChecksums(client: pg.ClientBase): Promise<void> {
  for (const [table, column, covered] of FILLS) {
    await client.query(
      `DECLARE unsummed NO SCROLL CURSOR FOR
       SELECT ctid::text AS place, json_build_array(${covered})::text AS parts FROM ${table}
       WHERE ${column} IS NULL AND num_nonnulls(${covered}) > 0`,
    );
    const update = `
      UPDATE ${table} AS t SET ${column} = v.checksum
      FROM unnest($1::text[], $2::integer[]) AS v (place, checksum) WHERE t.ctid = v.place::tid`;
    for (;;) {
      const { rows } = await client.query<{ place: string; parts: string }>(
        `FETCH ${BATCH} FROM unsummed`,
      );
      if (rows.length === 0) break;
      const places = rows.map(({ place }) => place);
      await client.query(update, [places, rows.map(({ parts }) => checksumOf(...partsOf(parts)))]);
    }
    await client.query("CLOSE unsummed");
  }
}

/** Tags are stored as a list and enter the checksum as text; no tags enter as null (lease/task-rows.ts). */
function partsOf(text: string): readonly ChecksumPart[] {
  const parts = JSON.parse(text) as readonly (ChecksumPart | readonly string[])[]; // as FILLS says
  return parts.map((part) => {
    if (typeof part !== "object" || part === null) return part;
    return part.length === 0 ? null : JSON.stringify(part);
  });
}
