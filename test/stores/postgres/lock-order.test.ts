// All transactions lock rows in the same order, so no two groups wait for each other (batched-writes.1).

import { expect, test } from "vitest";
import type { CommitItem } from "../../../src/index.ts";
import {
  ALPHA,
  askItem,
  claimOf,
  completedText,
  eventText,
  fresh,
  heldFrom,
  newTask,
  sendItem,
  startItem,
  TARGETS,
  turnItem,
  VERSION,
} from "../../../src/testing/conformance/fixture.ts";
import { enqueueItem, unique } from "../../../src/testing/conformance/jobs/job-steps.ts";
import { appendItem, TOKENS } from "../../../src/testing/conformance/streams/stream-steps.ts";
import { postgres } from "../../support/postgres.ts";
import { openStoreFor, ownSchema, until, urlWith } from "./support.ts";

const INSTANCES = 40;
const ROUNDS = 60;
const KEYED_ROUNDS = 15;

test(`in ${ROUNDS} rounds two processes send to the same ${INSTANCES} instances in opposite order without a deadlock`, async () => {
  const schema = ownSchema();
  // The server looks for deadlocks before the store gives up waiting for a lock, which it also does on a busy machine.
  const options = "-c deadlock_timeout=10ms";
  const target = await urlWith((url) => url.searchParams.set("options", options));
  const one = await openStoreFor([], { schema, target });
  const other = await openStoreFor([], { schema, target });
  const ids = Array.from({ length: INSTANCES }, (_, index) => `instance-${index}`);
  await one.commit(ids.map((id) => startItem({ id })));
  const before = await statistics();
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([
      one.commit(ids.map((id) => sendItem({ id }))),
      other.commit(ids.toReversed().map((id) => sendItem({ id }))),
    ]);
  }
  // A connection reports its statistics when it ends.
  for (const store of [one, other]) await store.close();
  await until("the commits are counted", async () => {
    return (await statistics()).commits >= before.commits + 2 * ROUNDS;
  });
  expect((await statistics()).deadlocks).toBe(before.deadlocks);
});

test(`in ${ROUNDS} rounds the turns of two processes dispatch items to each other's instances without a deadlock`, async () => {
  const schema = ownSchema();
  const options = "-c deadlock_timeout=10ms";
  const target = await urlWith((url) => url.searchParams.set("options", options));
  const one = await openStoreFor([ALPHA], { schema, target });
  const other = await openStoreFor([], { schema, target });
  const items = Array.from({ length: INSTANCES }, (_, index) =>
    startItem({ id: `instance-${index}`, lease: { owner: ALPHA, token: fresh() } }),
  );
  const results = await one.commit(items);
  const held = items.map(({ id, runId, lease }, index) => {
    const result = results[index];
    const key = result?.kind === "started" ? result.key : -1;
    return { id, runId, key, execution: 1, token: lease?.token ?? 0, lastEvent: 0 };
  });
  // Each process runs every second instance.
  const turns = (parity: number, ids: readonly string[], isStepwise: boolean) =>
    held.flatMap((sender, index) => {
      if (index % 2 !== parity) return [];
      const id = ids[index] ?? sender.id;
      const sent = [askItem({ id }), sendItem({ id })];
      const starts = isStepwise ? [startItem({ id, onConflict: "useExisting" })] : [];
      const dispatched = [...sent, ...starts].map((item, i) => ({ sequence: i + 2, item }));
      return [turnItem(sender, { dispatched })];
    });
  const ids = held.map(({ id }) => id);
  const before = await statistics();
  for (let round = 0; round < ROUNDS; round++) {
    const isStepwise = round % 5 === 0; // the batch cannot answer a start of an id that exists
    const [first, second] = await Promise.all([
      one.commit(turns(0, ids.toReversed(), isStepwise)),
      other.commit(turns(1, ids.toReversed(), isStepwise).toReversed()),
    ]);
    // On a busy machine a process may wait longer for a lock than the store allows.
    for (const { kind } of [...first, ...second]) expect(["committed", "busy"]).toContain(kind);
  }
  for (const store of [one, other]) await store.close();
  await until("the commits are counted", async () => {
    return (await statistics()).commits >= before.commits + 2 * ROUNDS;
  });
  expect((await statistics()).deadlocks).toBe(before.deadlocks);
});

test(`in ${ROUNDS} rounds turns and activities of two processes write to the same streams without a deadlock`, async () => {
  const schema = ownSchema();
  const options = "-c deadlock_timeout=10ms";
  const target = await urlWith((url) => url.searchParams.set("options", options));
  const one = await openStoreFor([ALPHA], { schema, target });
  const other = await openStoreFor([], { schema, target });
  const items = Array.from({ length: INSTANCES }, (_, index) =>
    startItem({ id: `instance-${index}`, lease: { owner: ALPHA, token: fresh() } }),
  );
  const results = await one.commit(items);
  const lease = { owner: ALPHA, token: 77 };
  const tasks = [2, 3].map((sequence) => newTask({ sequence, lease }));
  const held = items.map(({ id, runId, lease }, index) => {
    const result = results[index];
    const key = result?.kind === "started" ? result.key : -1;
    return { id, runId, key, execution: 1, token: lease?.token ?? 0, lastEvent: 0 };
  });
  await one.commit(held.map((each) => turnItem(each, { tasks })));
  const positions = new Map<string, number>();
  // Each process runs one of two activities of every instance, and every second instance. Both send to all.
  const group = (parity: number, isStepwise: boolean): CommitItem[] =>
    held.flatMap((each, index) => {
      const task = claimOf({ ...each, sequence: 2 + parity });
      const streams = [{ name: TOKENS, values: ["1"] }];
      const append = appendItem(task, [1, 2], {
        position: positions.get(`${parity} ${index}`) ?? 0,
      });
      const lost = appendItem({ ...task, token: -1 }, [1]); // makes its group stepwise
      return [
        append,
        ...(isStepwise && index === 0 ? [{ ...lost, name: "other" }] : []),
        sendItem({ id: each.id }),
        ...(index % 2 === parity ? [turnItem(each, { streams })] : []),
      ];
    });
  const before = await statistics();
  for (let round = 0; round < ROUNDS; round++) {
    const isStepwise = round % 5 === 0;
    const groups = [group(0, isStepwise), group(1, isStepwise).toReversed()];
    const answers = await Promise.all([one.commit(groups[0] ?? []), other.commit(groups[1] ?? [])]);
    for (const [parity, list] of answers.entries()) {
      for (const [index, { kind }] of list.entries()) {
        const item = groups[parity]?.[index];
        if (item?.kind !== "append" || item.task.token === -1) continue;
        expect(["done", "busy"]).toContain(kind);
        const at = held.findIndex(({ key }) => key === item.task.key);
        if (kind === "done") positions.set(`${parity} ${at}`, item.position + 2);
      }
    }
  }
  for (const store of [one, other]) await store.close();
  await until("the commits are counted", async () => {
    return (await statistics()).commits >= before.commits + 2 * ROUNDS;
  });
  expect((await statistics()).deadlocks).toBe(before.deadlocks);
});

test(`in ${KEYED_ROUNDS} rounds keyed starts, turns and ends of two processes do not deadlock`, async () => {
  const schema = ownSchema();
  const options = "-c deadlock_timeout=10ms";
  const target = await urlWith((url) => url.searchParams.set("options", options));
  const one = await openStoreFor([ALPHA], { schema, target });
  const other = await openStoreFor([], { schema, target });
  const keys = Array.from({ length: 6 }, (_, index) => `k${index}`);
  const before = await statistics();
  const kinds = new Set<string>();
  for (let round = 0; round < KEYED_ROUNDS; round++) {
    // Each key has a running instance, whose end releases the one that waits.
    const starts = keys.map((key) =>
      enqueueItem(`${round}.${key}`, unique("replace", `${round}.${key}`)),
    );
    const results = await one.commit(starts);
    const leased = await one.leaseInstances({
      ...{ owner: ALPHA, token: fresh(), limit: 100, targets: TARGETS },
      ...{ allowSuspect: true, messagesMax: 10 },
    });
    const held = leased.instances.filter(({ id }) => id.startsWith(`${round}.`));
    expect(held).toHaveLength(results.length);
    const lease = { owner: ALPHA, token: fresh() };
    const begun = held.map((each) =>
      turnItem(heldFrom(each), {
        version: VERSION,
        events: [eventText(), eventText()],
        consumed: each.messages.map(({ id }) => id),
        tasks: [newTask({ sequence: 2, lease })],
      }),
    );
    for (const { kind } of await one.commit(begun)) expect(kind).toBe("committed");
    const turns = held.map((each, index) =>
      turnItem(
        { ...heldFrom(each), lastEvent: 2 },
        index % 2 === 0
          ? { events: [eventText()] }
          : {
              events: [completedText("null")],
              change: { kind: "ended", status: "completed", output: "null", error: null },
            },
      ),
    );
    const replaces = (prefix: string) =>
      keys.map((key) =>
        enqueueItem(`${round}.${key}.${prefix}`, unique("replace", `${round}.${key}`)),
      );
    const groups: CommitItem[][] = [
      [...replaces("a"), ...turns],
      [...held.map(({ id }) => sendItem({ id })), ...replaces("b")].toReversed(),
    ];
    const answers = await Promise.all([one.commit(groups[0] ?? []), other.commit(groups[1] ?? [])]);
    for (const { kind } of answers.flat()) kinds.add(kind);
  }
  for (const store of [one, other]) await store.close();
  await until("the commits are counted", async () => {
    return (await statistics()).commits >= before.commits + 2 * KEYED_ROUNDS;
  });
  expect((await statistics()).deadlocks).toBe(before.deadlocks);
  expect(kinds).toContain("replaced");
});

test("the statistics of PostgreSQL count a deadlock", async () => {
  const { query } = await postgres();
  const schema = ownSchema();
  await query(`CREATE SCHEMA ${schema}`);
  await query(`CREATE TABLE ${schema}.pair AS SELECT * FROM (VALUES (1), (2)) AS v (n)`);
  const before = await deadlocks();
  const lock = (first: number, second: number): Promise<unknown> =>
    query(`DO $$ BEGIN
      PERFORM n FROM ${schema}.pair WHERE n = ${first} FOR UPDATE;
      PERFORM pg_sleep(0.3);
      PERFORM n FROM ${schema}.pair WHERE n = ${second} FOR UPDATE;
    END $$`);
  const ends = await Promise.allSettled([lock(1, 2), lock(2, 1)]);
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(1);
  await until("the deadlock is counted", async () => (await deadlocks()) > before);
});

async function deadlocks(): Promise<number> {
  return (await statistics()).deadlocks;
}

async function statistics(): Promise<{ readonly deadlocks: number; readonly commits: number }> {
  const { query } = await postgres();
  const sql = `SELECT deadlocks, xact_commit AS commits FROM pg_stat_database
    WHERE datname = current_database()`;
  const [row] = await query(sql);
  return { deadlocks: Number(row?.["deadlocks"]), commits: Number(row?.["commits"]) };
}
