// Stores for the suite: PostgreSQL in a schema of its own, with hands to write behind its back.

import pg from "pg";
import { PostgresProvider } from "../../src/postgres/index.ts";
import type {
  ContractOptions,
  OpenProvider,
  Tampering,
} from "../../src/testing/conformance/index.ts";
import { dropSchema, freshSchema, postgres } from "../support/postgres.ts";

export const IN_POSTGRES: ContractOptions = {
  offers: ["reopen", "corruptHistory", "corruptMessage", "corruptTask", "setNextIds"],
};

/**
 * All stores of this process share a pool, and schemas that are wiped between two: statements are planned once, which
 * would otherwise be most of what the suite does.
 */
const wiped: string[] = [];
let pool: Promise<pg.Pool> | null = null;

export const openInPostgres: OpenProvider = async ({ environment }) => {
  pool ??= postgres().then(({ url }) => new pg.Pool({ connectionString: url, max: 12 }));
  const shared = await pool;
  const schema = wiped.pop() ?? freshSchema();
  const open = () => PostgresProvider.open(shared, { environment, schema });
  const provider = await open();
  return {
    provider,
    reopen: open,
    tamper: tampering(schema),
    async cleanup() {
      await provider.close();
      await wipe(schema);
      wiped.push(schema);
    },
  };
};

/** Takes away the schemas that were used, and lets the process end. */
export async function closePostgres(): Promise<void> {
  for (const schema of wiped.splice(0)) await dropSchema(schema);
  await (await pool)?.end();
}

async function wipe(schema: string): Promise<void> {
  const { query } = await postgres();
  const tables = await query(
    `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relname <> 'meta'`,
    [schema],
  );
  const deletes = tables.map(({ relname }) => `DELETE FROM ${schema}.${String(relname)}`);
  const numbers = ["instance_keys", "message_ids"].map(
    (name) => `ALTER SEQUENCE ${schema}.${name} RESTART`,
  );
  await query([...deletes, ...numbers].join("; "));
}

function tampering(schema: string): Required<Tampering> {
  const change = async (sql: string, ...values: (string | number)[]): Promise<void> => {
    const { query } = await postgres();
    const rows = await query(`${sql} RETURNING 1`, values);
    if (rows.length !== 1) throw new Error(`${rows.length} rows changed by: ${sql}`);
  };
  return {
    corruptHistory({ key, execution, first, text }) {
      return change(
        `UPDATE ${schema}.history SET data = $1
         WHERE instance = $2 AND execution = $3 AND first = $4`,
        text,
        key,
        execution,
        first,
      );
    },
    corruptMessage({ id, text }) {
      return change(`UPDATE ${schema}.inbox SET data = $1 WHERE id = $2`, text, id);
    },
    // Tags are no encoded text here: none is the only thing that they can be made to say.
    corruptTask({ key, execution, sequence, text }) {
      return change(
        `UPDATE ${schema}.tasks SET options = $1, tags = '{}', tag_set = ''
         WHERE instance = $2 AND execution = $3 AND sequence = $4`,
        text,
        key,
        execution,
        sequence,
      );
    },
    async setNextIds(least) {
      const { query } = await postgres();
      for (const sequence of ["instance_keys", "message_ids"]) {
        await query("SELECT setval($1, $2)", [`${schema}.${sequence}`, least - 1]);
      }
    },
  };
}
