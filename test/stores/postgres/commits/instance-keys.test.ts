// Keys of instances that are inserted with their first turn (instance-keys.1, instance-keys.2).

import { expect, test } from "vitest";
import type { CommitResult, StartItem } from "../../../../src/index.ts";
import type { PostgresProvider } from "../../../../src/postgres/index.ts";
import {
  ALPHA,
  eventText,
  fresh,
  newTask,
  refused,
  startItem,
  turnItem,
  VERSION,
} from "../../../../src/testing/conformance/fixture.ts";
import { countRoundTrips } from "./round-trips.ts";
import { openStoreFor, ownSchema } from "../support.ts";

/** As many as a process starts before it expects its keys, and more. */
const MANY = 12;

function withTurn(id: string): StartItem {
  const lease = { owner: ALPHA, token: fresh() };
  const item = startItem({ id, lease, events: [] });
  const held = { id, runId: item.runId, key: 0, execution: 1, token: lease.token, lastEvent: 0 };
  const events = [item.started, eventText()];
  const tasks = [newTask({ sequence: 2 })];
  const firstTurn = turnItem(held, { version: VERSION, waitingEvents: "ready", events, tasks });
  return { ...item, firstTurn };
}

/** The key, after a check that the rows of the first turn have that key too. */
async function keyOf(store: PostgresProvider, result: CommitResult | undefined): Promise<number> {
  expect(result).toMatchObject({ kind: "started", due: [] });
  const key = result?.kind === "started" ? result.key : -1;
  expect(await store.readHistory({ key, execution: 1 })).toMatchObject([{ first: 1, last: 2 }]);
  expect(await store.readTasks({ key, execution: 1 })).toHaveLength(1);
  return key;
}

async function start(store: PostgresProvider, id: string): Promise<number> {
  const [result] = await store.commit([withTurn(id)]);
  return keyOf(store, result);
}

/** Starts instances until the store expects its keys. */
async function calm(store: PostgresProvider): Promise<void> {
  for (let i = 0; i < MANY; i++) await start(store, `calm-${fresh()}`);
}

test("a start with its first turn takes one round trip while no other process starts instances", async () => {
  const store = await openStoreFor([ALPHA], { notifications: false });
  await calm(store);
  const roundTrips = countRoundTrips();
  const [first] = await store.commit([withTurn("a")]);
  const [second] = await store.commit([withTurn("b")]);
  expect(roundTrips()).toBe(2);
  expect(await keyOf(store, second)).toBe((await keyOf(store, first)) + 1);
});

test("starts with and without a first turn share a group", async () => {
  const store = await openStoreFor([ALPHA]);
  await calm(store);
  const plain = startItem({ id: "plain", lease: null, events: [] });
  const [first, second, third] = await store.commit([withTurn("a"), plain, withTurn("b")]);
  const key = await keyOf(store, first);
  expect(second).toMatchObject({ kind: "started", key: key + 1 });
  expect(await keyOf(store, third)).toBe(key + 2);
});

test("the keys of two processes never collide, and every first turn is written", async () => {
  const schema = ownSchema();
  const one = await openStoreFor([ALPHA], { schema });
  const other = await openStoreFor([], { schema });
  await calm(one);
  const before = await start(one, "before");
  const between = await start(other, "between");
  const after = await start(one, "after");
  expect([between > before, after > between]).toEqual([true, true]);
  const both = [one, other].flatMap((store, s) =>
    Array.from({ length: 2 * MANY }, async (_, i) => start(store, `both-${s}-${i}`)),
  );
  expect(new Set(await Promise.all(both)).size).toBe(4 * MANY);
});

test("a start that meets an existing id is refused, and the next starts are written with their turns", async () => {
  const store = await openStoreFor([ALPHA]);
  await calm(store);
  await start(store, "taken");
  expect(await store.commit([withTurn("taken")])).toEqual([refused("INSTANCE_EXISTS")]);
  await start(store, "a");
  await start(store, "b");
});
