// Stores for the contract suite: PostgreSQL in a separate schema, with functions that tamper with its rows.

import pg from "pg";
import type {
  ContractOptions,
  OpenProvider,
  Tampering,
} from "../../../src/testing/conformance/index.ts";
import { postgres } from "../../support/postgres.ts";
import { giveBackSchema, openOnPool, takeSchema } from "../../support/postgres-stores.ts";

export const IN_POSTGRES: ContractOptions = {
  offers: [
    "reopen",
    "begin",
    "concurrentWrites",
    "corruptHistory",
    "corruptMessage",
    "corruptTask",
    "corruptAnswer",
    "corruptStream",
    "setNextIds",
  ],
};

export const openInPostgres: OpenProvider = async ({ environment }) => {
  const schema = takeSchema();
  const open = () => openOnPool(schema, { environment });
  const provider = await open();
  const clients = new Set<pg.Client>(); // with an open transaction
  return {
    provider,
    reopen: open,
    async begin() {
      const client = new pg.Client((await postgres()).url);
      await client.connect();
      clients.add(client);
      await client.query("BEGIN");
      const end = async (how: "COMMIT" | "ROLLBACK"): Promise<void> => {
        await client.query(how);
        clients.delete(client);
        await client.end();
      };
      return {
        transaction: client,
        commit: () => end("COMMIT"),
        rollback: () => end("ROLLBACK"),
      };
    },
    concurrentWrites: true,
    tamper: tampering(schema),
    async cleanup() {
      for (const client of clients) await client.end();
      await provider.close();
      await giveBackSchema(schema);
    },
  };
};

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
    // Tags are an array column here, not encoded text. They can only be corrupted by emptying them.
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
    corruptAnswer({ key, requestId, text }) {
      return change(
        `UPDATE ${schema}.requests SET answer = $1 WHERE instance = $2 AND kind = 'ask' AND id = $3`,
        text,
        key,
        requestId,
      );
    },
    corruptStream({ key, name, first, text }) {
      return change(
        `UPDATE ${schema}.stream_chunks SET data = $1
         WHERE instance = $2 AND name = $3 AND first = $4`,
        text,
        key,
        name,
        first,
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
