// Locks that strangers hold: nobody waits with the one who has to (semantics 32).

import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { Client, orchestration } from "../../src/index.ts";
import { Committer } from "../../src/core/committer.ts";
import { sendItem, startItem } from "../../src/testing/conformance/fixture.ts";
import { postgres } from "../support/postgres.ts";
import { openStore, ownSchema, until } from "./support.ts";

/** A transaction of somebody else's that has run this and is not over. */
async function openTransaction(sql: string, values: readonly unknown[] = []) {
  const client = new pg.Client((await postgres()).url);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("BEGIN");
  await client.query(sql, [...values]);
  return { end: () => client.query("ROLLBACK") };
}

describe("a row that a stranger has locked", () => {
  test("keeps its own item waiting and none of its neighbours", async () => {
    const schema = ownSchema();
    const store = await openStore({ schema });
    const ids = Array.from({ length: 16 }, (_, i) => `n${i}`);
    await store.commit(ids.map((id) => startItem({ id })));
    const lock = `SELECT 1 FROM ${schema}.instances WHERE id = $1 FOR UPDATE`;
    const stranger = await openTransaction(lock, ["n5"]);
    const sends = ids.map((id) => sendItem({ id }));
    const results = await store.commit(sends);
    expect(results.map(({ kind }) => kind)).toEqual(
      ids.map((id) => (id === "n5" ? "busy" : "done")),
    );
    await stranger.end();
    const [late] = await store.commit(sends.slice(5, 6));
    expect(late).toEqual({ kind: "done" });
  });

  test("is waited for by the committer beside its groups, for as long as it takes", async () => {
    const schema = ownSchema();
    const store = await openStore({ schema });
    await store.commit(["a", "b"].map((id) => startItem({ id })));
    const committer = Committer.of(store);
    const lock = `SELECT 1 FROM ${schema}.instances WHERE id = $1 FOR UPDATE`;
    const stranger = await openTransaction(lock, ["b"]);
    const order: string[] = [];
    const note = (what: string) => (): void => void order.push(what);
    const waiting = committer.submit(sendItem({ id: "b" })).then(note("b"));
    await committer.submit(sendItem({ id: "a" })).then(note("a"));
    for (let i = 0; i < 10; i++) await committer.submit(sendItem({ id: "a" })).then(note("later"));
    expect(order).toEqual(["a", ...Array<string>(10).fill("later")]);
    await stranger.end();
    await waiting;
    expect(order.at(-1)).toBe("b");
  });
});

test("an id that a stranger's open transaction has taken holds up nobody else's start", async () => {
  const schema = ownSchema();
  const store = await openStore({ schema });
  await store.commit([startItem({ id: "there" })]);
  const stranger = await openTransaction(
    `UPDATE ${schema}.instances SET id = 'taken' WHERE id = 'there'`,
  );
  const client = new Client(store);
  const anything = orchestration("anything", async () => 1);
  const held = client.start(anything, undefined, { id: "taken" });
  const started = performance.now();
  const others = Array.from({ length: 64 }, (_, i) =>
    client.start(anything, undefined, { id: `free-${i}` }),
  );
  await Promise.all(others);
  const tookMs = performance.now() - started;
  let isHeld = true;
  void held.then(() => (isHeld = false));
  expect(isHeld).toBe(true);
  expect(tookMs).toBeLessThan(2_000);
  await stranger.end();
  await until("the last start is through", () => !isHeld);
});
