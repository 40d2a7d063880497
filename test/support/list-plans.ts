// The statements of a list, and of the waits of its instances, with the plans of the database.
//   The script is run with a driver of its own, which asks for the plan of each statement before it runs it.

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type pg from "pg";
import type { ListRequest } from "../../src/core/provider/index.ts";
import { LISTING as POSTGRES_LISTING } from "../../src/postgres/read/listing.ts";
import { findInstances, type ListingParts } from "../../src/sql/read/listing.ts";
import { readWaits } from "../../src/sql/read/waits.ts";
import type { Script } from "../../src/sql/script/script.ts";
import type { Call } from "../../src/sql/script/statement.ts";
import { translate } from "../../src/sqlite/connection/translate.ts";
import { LISTING as SQLITE_LISTING } from "../../src/sqlite/read/listing.ts";

export interface Planned {
  readonly sql: string;
  readonly plan: string;
  /** How many rows the statement returned. */
  readonly rows: number;
}

/** What is read: a page of a list, or the waits of instances by their keys. */
export type Read = ListRequest | { readonly waitsOf: readonly number[] };

function scriptOf(read: Read, parts: ListingParts): Script<unknown> {
  return "waitsOf" in read ? readWaits(read.waitsOf) : findInstances(read, parts);
}

export function sqliteListPlans(database: DatabaseSync, read: Read): readonly Planned[] {
  const planned: Planned[] = [];
  const answer = ({ statement, values }: Call) => {
    const { sql } = translate(statement.text);
    const bound = values.map((value): SQLInputValue =>
      typeof value === "object" && value !== null
        ? JSON.stringify(value)
        : Number.isInteger(value)
          ? (value as number)
          : (value as SQLInputValue),
    );
    const lines = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...bound);
    const rows = database.prepare(sql).all(...bound);
    planned.push({
      sql,
      plan: lines.map((line) => String(line["detail"])).join("\n"),
      rows: rows.length,
    });
    return { rows, count: rows.length };
  };
  const script = scriptOf(read, SQLITE_LISTING);
  for (let step = script.next(); step.done !== true;) {
    step = script.next((step.value as readonly Call[]).map(answer));
  }
  return planned;
}

export async function postgresListPlans(
  client: pg.ClientBase | pg.Pool,
  schema: string,
  read: Read,
): Promise<readonly Planned[]> {
  const planned: Planned[] = [];
  const answer = async ({ statement, values }: Call) => {
    const sql = statement.text.replaceAll("@", `${schema}.`);
    const bound = [...values];
    const { rows: lines } = await client.query<{ "QUERY PLAN": string }>(
      `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ${sql}`,
      bound,
    );
    const { rows } = await client.query<Record<string, unknown>>(sql, bound);
    planned.push({
      sql,
      plan: lines.map((line) => line["QUERY PLAN"]).join("\n"),
      rows: rows.length,
    });
    return { rows, count: rows.length };
  };
  const script = scriptOf(read, POSTGRES_LISTING);
  for (let step = script.next(); step.done !== true;) {
    const answers = [];
    for (const each of step.value as readonly Call[]) answers.push(await answer(each));
    step = script.next(answers);
  }
  return planned;
}
