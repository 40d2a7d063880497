// The user's own rows and ours in one transaction, on a SQLite file (semantics 31–33).

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { orchestration, Perdure, StepError, type Orchestration } from "../../src/index.ts";
import { refusalOf, temporaryFolder } from "../trouble/support.ts";

const echo = orchestration("echo", async (_, value: string) => value);
const waits = orchestration("waits", async (ctx) => ctx.event("go"));

async function shop(
  register: readonly Orchestration<never, unknown>[] = [],
  shadowReplay: "always" | "never" = "always",
) {
  const path = join(temporaryFolder(), "shop.db");
  const perdure = await Perdure.open(`sqlite:${path}`, {
    register: [echo, waits, ...register],
    runtime: { log: () => undefined, shadowReplay },
  });
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, note TEXT) STRICT");
  onTestFinished(async () => {
    if (database.isOpen) database.close();
    await perdure.close({ graceMs: 0 });
  });
  const rows = (): string[] =>
    database
      .prepare("SELECT id FROM orders ORDER BY id")
      .all()
      .map((row) => String(row["id"]));
  return { perdure, client: perdure.client, database, rows, path };
}

test("a start in the user's transaction exists when the user commits, and runs", async () => {
  const { client, database, rows } = await shop();
  database.exec("BEGIN");
  database.exec("INSERT INTO orders (id) VALUES ('1')");
  const handle = await client.start(echo, "hello", { id: "order-1", tx: database });
  expect(await handle.exists()).toBe(false);
  database.exec("COMMIT");
  expect(await handle.result({ timeout: "10s" })).toBe("hello");
  expect(rows()).toEqual(["1"]);
});

test("when the user rolls back, nothing was started and nothing raised", async () => {
  const { client, database, rows } = await shop();
  const waiting = await client.start(waits, undefined, { id: "w" });
  database.exec("BEGIN");
  database.exec("INSERT INTO orders (id) VALUES ('1')");
  const handle = await client.start(echo, "hello", { id: "order-1", tx: database });
  await waiting.raise("go", "now", { tx: database });
  database.exec("ROLLBACK");
  expect(await handle.exists()).toBe(false);
  expect(await waiting.unread()).toEqual([]);
  expect(rows()).toEqual([]);
  await client.start(echo, "again", { id: "order-1" });
});

test("an event raised in the user's transaction arrives with it", async () => {
  const { client, database } = await shop();
  const waiting = await client.start(waits, undefined, { id: "w" });
  database.exec("BEGIN IMMEDIATE");
  await waiting.raise("go", { paid: true }, { tx: database });
  database.exec("COMMIT");
  expect(await waiting.result({ timeout: "10s" })).toEqual({ paid: true });
});

test("an id that is taken is refused or used inside the transaction as outside", async () => {
  const { client, database } = await shop();
  await (await client.start(echo, "first", { id: "a" })).result();
  database.exec("BEGIN");
  const again = client.start(echo, "second", { id: "a", tx: database });
  expect(await refusalOf(again)).toMatchObject({ code: "INSTANCE_EXISTS" });
  const used = await client.start(echo, "x", { id: "a", onConflict: "useExisting", tx: database });
  database.exec("COMMIT");
  expect(await used.result()).toBe("first");
});

test("what would touch a live instance's row is refused, and so is a handle that is no transaction here", async () => {
  const { client, database } = await shop();
  const invalid = { code: "INVALID_ARGUMENT" };
  const start = (tx: object, onConflict: "fail" | "restart" = "fail") =>
    refusalOf(client.start(echo, "x", { id: "a", tx, onConflict }));
  expect(await start(database)).toMatchObject(invalid); // no BEGIN
  database.exec("BEGIN");
  expect(await start(database, "restart")).toMatchObject(invalid);
  expect(await start({})).toMatchObject(invalid);
  using other = new DatabaseSync(":memory:");
  other.exec("BEGIN");
  expect(await start(other)).toMatchObject(invalid);
  const elsewhere = new DatabaseSync(join(temporaryFolder(), "other.db"));
  elsewhere.exec("BEGIN");
  expect((await start(elsewhere)).message).toContain("other.db");
  elsewhere.close();
  database.exec("ROLLBACK");
  expect(await client.count()).toBe(0);
});

test("ctx.tx writes the user's rows and its checkpoint together, and hands its value on", async () => {
  const save = orchestration("save", async (ctx, id: string) => {
    const first = await ctx.tx("insert", (tx: DatabaseSync) => {
      tx.prepare("INSERT INTO orders (id, note) VALUES (?, ?)").run(id, "new");
      return { id, at: new Date(0) };
    });
    await ctx.tx("update", (tx: DatabaseSync) => {
      tx.prepare("UPDATE orders SET note = ? WHERE id = ?").run("done", first.id);
    });
    return first.at.getTime();
  });
  const { client, database } = await shop([save]);
  const handle = await client.start(save, "7");
  expect(await handle.result({ timeout: "10s" })).toBe(0);
  expect(database.prepare("SELECT * FROM orders").all()).toEqual([{ id: "7", note: "done" }]);
  const kinds = (await handle.history()).map(({ kind }) => kind);
  expect(kinds).toEqual([
    "OrchestrationStarted",
    "StepScheduled",
    "StepCompleted",
    "StepScheduled",
    "StepCompleted",
    "OrchestrationCompleted",
  ]);
});

test("a function that throws leaves no row, follows its retries, and fails as a StepError", async () => {
  let runs = 0;
  const fail = orchestration("fail", async (ctx) => {
    const retry = { maxAttempts: 3, backoff: { kind: "none" } } as const;
    try {
      await ctx.tx(
        "insert",
        (tx: DatabaseSync) => {
          tx.prepare("INSERT INTO orders (id) VALUES (?)").run(`row-${++runs}`);
          throw new Error("no stock");
        },
        { retry },
      );
    } catch (error) {
      return error instanceof StepError ? [error.message, error.attempts] : error;
    }
    return "no error";
  });
  const { client, rows } = await shop([fail], "never");
  const handle = await client.start(fail);
  expect(await handle.result({ timeout: "10s" })).toEqual(["no stock", 3]);
  expect(runs).toBe(3);
  expect(rows()).toEqual([]);
});

test.each<[string, (tx: DatabaseSync) => unknown, string]>([
  ["returns a promise", async () => 1, "synchronous on SQLite"],
  ["returns what cannot be stored", () => () => 1, "function"],
  ["commits by itself", (tx) => tx.exec("COMMIT"), "ended its transaction"],
])("a function that %s fails at once and leaves no row", async (_, fn, why) => {
  const bad = orchestration("bad", async (ctx) => {
    await ctx.tx("insert", (tx: DatabaseSync) => {
      if (why !== "ended its transaction") tx.exec("INSERT INTO orders (id) VALUES ('x')");
      return fn(tx);
    });
  });
  const { client, rows } = await shop([bad]);
  const handle = await client.start(bad);
  await expect(handle.result({ timeout: "10s" })).rejects.toMatchObject({
    cause: { message: expect.stringContaining(why) as string },
  });
  expect(rows()).toEqual([]);
});
