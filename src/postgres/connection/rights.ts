// Rights: may the role use the store's schema, and what does an administrator have to grant?
//   - A role need not own the tables. Another role creates them (`perdure migrate`), and grants rights on them.
//   - rights.1: A missing right would fail the first call that needs it, maybe days later: after a migration
//       has added a table, for example. So all rights are checked when a store is opened.

import type pg from "pg";
import { PerdureError, errorMessage } from "../../core/errors/errors.ts";
import { sqlState } from "./errors.ts";

export interface RightsOptions {
  /** The schema's name, plain; `schema` is the same name quoted for statements. */
  readonly name: string;
  readonly schema: string;
  readonly readOnly: boolean;
}

const FORBIDDEN = "42501";
const SHOWN_MAX = 5;

/**
 * Only objects of the store's owner count: the schema may also hold a table of another role. CASE, because a
 * condition does not keep PostgreSQL from calling the functions for objects of other kinds.
 */
const FIND_MISSING = `
  WITH store AS (
    SELECT relnamespace AS schema, relowner AS owner FROM pg_class
    WHERE relname = 'meta' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
  )
  SELECT object, needed FROM (
    SELECT c.relname::text AS object, needed,
      CASE WHEN c.relkind <> 'r' THEN true ELSE has_table_privilege(c.oid, needed) END AS granted
    FROM store, pg_class c, unnest($2::text[]) AS needed
    WHERE c.relnamespace = store.schema AND c.relowner = store.owner
    UNION ALL
    SELECT c.relname::text, 'USAGE',
      CASE WHEN c.relkind <> 'S' OR $3 THEN true ELSE has_sequence_privilege(c.oid, 'USAGE') END
    FROM store, pg_class c
    WHERE c.relnamespace = store.schema AND c.relowner = store.owner
    UNION ALL
    SELECT p.proname::text, 'EXECUTE', has_function_privilege(p.oid, 'EXECUTE') FROM store, pg_proc p
    WHERE p.pronamespace = store.schema AND p.proowner = store.owner
  ) AS rights WHERE NOT granted
  ORDER BY object, needed`;

/** rights.1 */
export async function checkRights(client: pg.ClientBase, options: RightsOptions): Promise<void> {
  const needed = options.readOnly ? ["SELECT"] : ["SELECT", "INSERT", "UPDATE", "DELETE"];
  const { rows } = await client.query<{ object: string; needed: string }>(FIND_MISSING, [
    options.name,
    needed,
    options.readOnly,
  ]);
  if (rows.length === 0) return;
  const shown = rows.slice(0, SHOWN_MAX).map((row) => `${row.needed} on ${row.object}`);
  const more = rows.length > SHOWN_MAX ? ` and ${rows.length - SHOWN_MAX} more` : "";
  throw await ungranted(client, options, `lacks ${shown.join(", ")}${more}`);
}

/** Runs `work`, which reads the store's tables. A missing right is reported with the way out. */
export async function withRights<T>(
  client: pg.ClientBase,
  options: RightsOptions,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (sqlState(error) !== FORBIDDEN) throw error;
    throw await ungranted(client, options, `cannot read its tables: ${errorMessage(error)}`);
  }
}

/** Runs a migration. The error for a role that may not create tables names the way out. */
export async function withRightToCreate<T>(
  client: pg.ClientBase,
  { name }: RightsOptions,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (sqlState(error) !== FORBIDDEN) throw error;
    const role = await roleOf(client);
    const way = `Run perdure migrate, or call PostgresProvider.migrate, as a role that may create them; then this role needs rights on the tables only`;
    const message = `Role "${role}" may not create or change the tables of schema "${name}": ${errorMessage(error)}. ${way}.`;
    throw new PerdureError("STORE_INVALID", message, { cause: error });
  }
}

async function ungranted(
  client: pg.ClientBase,
  { name, schema, readOnly }: RightsOptions,
  why: string,
): Promise<PerdureError> {
  const role = await roleOf(client);
  const to = `TO "${role.replaceAll('"', '""')}"`;
  const tables = readOnly ? "SELECT" : "SELECT, INSERT, UPDATE, DELETE";
  const grants = [
    `GRANT USAGE ON SCHEMA ${schema} ${to};`,
    `GRANT ${tables} ON ALL TABLES IN SCHEMA ${schema} ${to};`,
    ...(readOnly ? [] : [`GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} ${to};`]),
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} ${to};`,
  ];
  const message = `Role "${role}" may not use schema "${name}": it ${why}. Run as the owner of the tables: ${grants.join(" ")}`;
  return new PerdureError("STORE_INVALID", message);
}

async function roleOf(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ role: string }>("SELECT current_user::text AS role");
  return rows[0]?.role ?? "";
}
