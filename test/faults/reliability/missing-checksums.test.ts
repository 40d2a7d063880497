// Rows without a checksum count as damage in a store of this version. The migration of an older store fills in the
// missing checksums (docs/decisions/0028).

import { expect, onTestFinished, test } from "vitest";
import { checkRows } from "../../../src/cli/doctor/rows.ts";
import { Client } from "../../../src/index.ts";
import { openAddress } from "../kill/store-address.ts";
import { STORE_KINDS, storeUnderTest, type StoreUnderTest } from "../kill/stores.ts";
import { startRuntime, temporaryFolder } from "../trouble/support.ts";
import { double, idOf, fillStore, filled, readings, type Readings } from "./filled-store.ts";

/** The schema version before the migration that fills in checksums. */
const BEFORE = 5;
/**
 * Every checksum column, and whether a read by a client or a worker verifies it. `perdure doctor` checks the others.
 */
const COLUMNS: readonly (readonly [table: string, column: string, isRead: boolean])[] = [
  ["history", "checksum", true],
  ["kv", "checksum", true],
  ["inbox", "checksum", true],
  ["kept", "checksum", false],
  ["tasks", "checksum", true],
  ["tasks", "heartbeat_checksum", true],
  ["tasks", "progress_checksum", false],
  ["tasks", "failure_checksum", false],
  ["instances", "ending_checksum", true],
  ["instances", "custom_status_checksum", true],
  ["instances", "attributes_checksum", true],
];

test.each(STORE_KINDS)(
  "on %s a missing checksum counts as damage in each column, until the migration of an older store fills it in",
  { timeout: 300_000 },
  async (kind) => {
    const store = await storeUnderTest(kind, temporaryFolder());
    onTestFinished(() => store[Symbol.asyncDispose]());
    const open = () => openAddress(store.address);
    const provider = await open();
    const ids = await fillStore(provider, 8);
    await new Client(provider).get("later").raise("go", 1, { ifMissing: "keep" });
    await provider.close();
    for (const column of ["heartbeat", "progress", "last_failure"]) {
      await store.column(`UPDATE @tasks SET ${column} = '"${column}"' RETURNING 1`);
    }
    await migrateAgain(store);
    expect(await checkUp(store)).toMatchObject([{ level: "ok" }]);
    const truth = await readings(open, ids);
    expect(codesIn(truth)).toEqual([]);

    for (const [table, column, isRead] of COLUMNS) {
      const nulled = await store.column(
        `UPDATE @${table} SET ${column} = NULL WHERE ${column} IS NOT NULL RETURNING 1`,
      );
      const found = await readings(open, ids);
      const message = expect.stringContaining(
        `its ${column} does not match or is missing`,
      ) as string;
      expect([table, column, nulled.length > 0, codesIn(found), await checkUp(store)]).toEqual([
        ...[table, column, true],
        isRead ? ["HISTORY_CORRUPT"] : [],
        [expect.objectContaining({ level: "problem", message })],
      ]);
      await migrateAgain(store);
      expect([table, column, await readings(open, ids)]).toEqual([table, column, truth]);
      expect(await checkUp(store)).toMatchObject([{ level: "ok" }]);
    }
  },
);

test.each(STORE_KINDS)(
  "on %s the instances of a store without checksums continue after the migration, kept events included",
  { timeout: 300_000 },
  async (kind) => {
    const store = await storeUnderTest(kind, temporaryFolder());
    onTestFinished(() => store[Symbol.asyncDispose]());
    const before = await openAddress(store.address);
    await fillStore(before, 1);
    const client = new Client(before);
    await client.get(idOf(0)).raise("go", "went");
    await client.get("later").raise("go", "kept", { ifMissing: "keep" });
    await before.close();
    for (const [table, column] of COLUMNS) {
      await store.column(`UPDATE @${table} SET ${column} = NULL RETURNING 1`);
    }
    await setVersion(store, BEFORE);
    const after = await openAddress(store.address);
    onTestFinished(() => after.close());
    await startRuntime(after, [filled, double]);
    const looking = new Client(after);
    const [kept] = (await looking.kept()).items;
    expect(kept).toMatchObject({ id: "later", data: "kept", expired: false });
    // An event of an older version expires seven days after it was sent.
    expect(Number(kept?.expiresAt) - Number(kept?.createdAt)).toBe(7 * 86_400_000);
    await expect
      .poll(async () => (await looking.get(idOf(0)).describe()).waitingFor.map(({ kind: k }) => k))
      .toEqual(["timer"]);
    await looking.start(filled, 4, { id: "later" });
    await expect
      .poll(async () => (await looking.get("later").history()).map(({ kind: k }) => k))
      .toContain("EventReceived");
  },
);

function codesIn(found: Readings): readonly string[] {
  return [...new Set([...found.values()].flatMap(({ code }) => code ?? []))];
}

async function checkUp(store: StoreUnderTest) {
  const provider = await openAddress(store.address);
  try {
    return await checkRows(provider);
  } finally {
    await provider.close();
  }
}

/** Opens the store as if an older version had written it. */
async function migrateAgain(store: StoreUnderTest): Promise<void> {
  await setVersion(store, BEFORE);
  await (await openAddress(store.address)).close();
}

async function setVersion(store: StoreUnderTest, version: number): Promise<void> {
  await undoLaterMigrations(store);
  await store.column(
    `UPDATE @meta SET value = ${version} WHERE name = 'schema_version' RETURNING 1`,
  );
}

/** Removes everything that the migrations after `BEFORE` created. */
async function undoLaterMigrations(store: StoreUnderTest): Promise<void> {
  const isPostgres = store.address.startsWith("postgres");
  const triggers = ["insert", "delete", "update", "status"].map((name) => `tallies_${name}`);
  const undo = [
    ...(isPostgres
      ? ["due_messages", "clear_ended", "hand_over"].map((name) => `DROP FUNCTION @${name}`)
      : []),
    ...(isPostgres
      ? ["DROP FUNCTION @index_attributes CASCADE", "DROP FUNCTION @put_attributes"]
      : ["insert", "update", "delete"].map((name) => `DROP TRIGGER attributes_${name}`)),
    "DROP TABLE @attributes",
    "DROP INDEX @instances_ended_others",
    ...(isPostgres
      ? ["DROP INDEX @instances_completed"]
      : ["name", "created", "live", "failed", "paused", "blocked"].map(
          (name) => `DROP INDEX instances_${name}`,
        )),
    ...(isPostgres ? [] : ["CREATE INDEX instances_created ON instances (created_at, key)"]),
    "DROP INDEX @inbox_ready",
    "DROP INDEX @inbox_begun",
    ...(isPostgres
      ? ["DROP FUNCTION @tally CASCADE"]
      : triggers.map((name) => `DROP TRIGGER ${name}`)),
    "DROP TABLE @tallies",
    "ALTER TABLE @runtimes DROP COLUMN leases_checked_at",
    "ALTER TABLE @runtimes DROP COLUMN leases_stranded",
    `DROP INDEX ${isPostgres ? "@requests_asker" : "requests_askers"}`,
    ...["answer", "answer_checksum", "asker"].map(
      (name) => `ALTER TABLE @requests DROP COLUMN ${name}`,
    ),
    ...["DROP INDEX @kept_due", "DROP INDEX @kept_expired"],
    ...["tasks_slots", "tasks_deferred", "tasks_keys", "instances_expiring"].map(
      (name) => `DROP INDEX @${name}`,
    ),
    ...["queue_key", "weight", "holds_slot"].map(
      (name) => `ALTER TABLE @tasks DROP COLUMN ${name}`,
    ),
    ...["queues", "admissions", "queue_clocks", "queue_lanes", "queue_outcomes"].map(
      (table) => `DROP TABLE @${table}`,
    ),
    "DROP TABLE @enqueue_keys",
    "DROP INDEX @instances_ended",
    "ALTER TABLE @instances DROP COLUMN delete_after",
    `CREATE INDEX instances_ended ON @instances (${isPostgres ? "failed" : "status"}, completed_at, key)
      WHERE completed_at IS NOT NULL AND parent_id IS NULL`,
    "DROP TABLE @store",
    "ALTER TABLE @tasks DROP COLUMN deferred_until",
    ...["streams", "stream_calls", "stream_chunks"].map((table) => `DROP TABLE @${table}`),
    "ALTER TABLE @kept DROP COLUMN expires_at",
    "ALTER TABLE @kept DROP COLUMN expired_at",
    "CREATE INDEX kept_age ON @kept (created_at)",
    ...(isPostgres
      ? ["ALTER TABLE @arrivals DROP COLUMN keep_ms", "DROP FUNCTION @checksum_with"]
      : []),
  ];
  for (const sql of undo) await store.column(sql);
}
