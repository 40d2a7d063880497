// Locks held outside Perdure delay only the blocked item (semantics 32).

import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { Client, orchestration } from "../../../src/index.ts";
import { Committer } from "../../../src/core/commit/committer.ts";
import { sendItem, startItem } from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { openStore, ownSchema } from "./support.ts";

/** An open transaction outside Perdure that has executed `sql`. */
async function openTransaction(sql: string, values: readonly unknown[] = []) {
  const client = new pg.Client((await postgres()).url);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("BEGIN");
  await client.query(sql, [...values]);
  return { end: () => client.query("ROLLBACK") };
}

describe("a row locked outside Perdure", () => {
  test("makes its own item wait, but no other item of the group", async () => {
    const schema = ownSchema();
    const store = await openStore({ schema });
    const ids = Array.from({ length: 16 }, (_, i) => `n${i}`);
    await store.commit(ids.map((id) => startItem({ id })));
    const lock = `SELECT 1 FROM ${schema}.instances WHERE id = $1 FOR UPDATE`;
    const outside = await openTransaction(lock, ["n5"]);
    const sends = ids.map((id) => sendItem({ id }));
    const results = await store.commit(sends);
    expect(results.map(({ kind }) => kind)).toEqual(
      ids.map((id) => (id === "n5" ? "busy" : "done")),
    );
    await outside.end();
    const [late] = await store.commit(sends.slice(5, 6));
    expect(late).toEqual({ kind: "done" });
  });

  test("does not delay the groups of the committer, which retries the blocked item until it succeeds", async () => {
    const schema = ownSchema();
    const store = await openStore({ schema });
    await store.commit(["a", "b"].map((id) => startItem({ id })));
    const committer = Committer.of(store);
    const lock = `SELECT 1 FROM ${schema}.instances WHERE id = $1 FOR UPDATE`;
    const outside = await openTransaction(lock, ["b"]);
    const order: string[] = [];
    const note = (what: string) => (): void => void order.push(what);
    const waiting = committer.submit(sendItem({ id: "b" })).then(note("b"));
    await committer.submit(sendItem({ id: "a" })).then(note("a"));
    for (let i = 0; i < 10; i++) await committer.submit(sendItem({ id: "a" })).then(note("later"));
    expect(order).toEqual(["a", ...Array<string>(10).fill("later")]);
    await outside.end();
    await waiting;
    expect(order.at(-1)).toBe("b");
  });
});

test("an id taken by an open transaction outside Perdure does not delay other starts", async () => {
  const schema = ownSchema();
  const store = await openStore({ schema });
  await store.commit([startItem({ id: "there" })]);
  const outside = await openTransaction(
    `UPDATE ${schema}.instances SET id = 'taken' WHERE id = 'there'`,
  );
  const client = new Client(store);
  const anything = orchestration("anything", async () => 1);
  let isHeld = true;
  const held = client.start(anything, undefined, { id: "taken" }).then(() => (isHeld = false));
  const others = Array.from({ length: 64 }, (_, i) =>
    client.start(anything, undefined, { id: `free-${i}` }),
  );
  await Promise.all(others); // the transaction outside is still open
  expect(isHeld).toBe(true);
  await outside.end();
  await held;
});
