// Streams under concurrency: several processes append to one stream, and a worker takes a task over during an append.

import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { checksumOf } from "../../../../src/core/values/checksum.ts";
import type { AppendItem, CommitItem, Provider, TaskClaim } from "../../../../src/index.ts";
import { PostgresProvider } from "../../../../src/postgres/index.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  eventText,
  fresh,
  newTask,
  outcomeText,
  registration,
  sendItem,
  startItem,
  turnItem,
  type Held,
} from "../../../../src/testing/conformance/fixture.ts";
import {
  appendItem,
  entries,
  page,
  TOKENS,
} from "../../../../src/testing/conformance/streams/stream-steps.ts";
import { VirtualEnvironment } from "../../../../src/testing/virtual-environment.ts";
import { postgres } from "../../../support/postgres.ts";
import { openStoreFor, ownSchema, until } from "../support.ts";
import { countRoundTrips } from "./round-trips.ts";

const DONE = { kind: "done" };
const LEASE_LOST = { kind: "refused", code: "LEASE_LOST" };

interface Writing {
  readonly held: Held;
  /** The claims of two running calls, 2 and 3. */
  readonly tasks: readonly [TaskClaim, TaskClaim];
}

/** An instance that ALPHA holds, with two running calls. */
async function writing(store: Provider, id: string, leaseMs?: number): Promise<Writing> {
  const token = fresh();
  const item = startItem({ id, lease: { owner: ALPHA, token } });
  const [started] = await store.commit([item]);
  if (started?.kind !== "started") throw new Error("the instance was not started");
  const held = { id, runId: item.runId, key: started.key, execution: 1, token, lastEvent: 0 };
  const claim = (sequence: number): TaskClaim => {
    return { key: held.key, execution: 1, sequence, token: fresh() };
  };
  const tasks = [claim(2), claim(3)] as const;
  const lease = { owner: ALPHA, ...(leaseMs === undefined ? {} : { leaseMs }) };
  const [result] = await store.commit([
    turnItem(held, {
      events: [eventText()],
      tasks: tasks.map((task) =>
        newTask({ sequence: task.sequence, lease: { ...lease, token: task.token } }),
      ),
    }),
  ]);
  expect(result?.kind).toBe("committed");
  return { held: { ...held, lastEvent: 1 }, tasks };
}

/** An open transaction outside Perdure that has executed `sql`. */
async function openTransaction(sql: string) {
  const client = new pg.Client((await postgres()).url);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("BEGIN");
  await client.query(sql);
  const { query } = await postgres();
  const [row] = await query("SELECT pid FROM pg_stat_activity WHERE query = $1", [sql]);
  const blocked = `SELECT 1 FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid))`;
  return {
    commit: () => client.query("COMMIT"),
    isWaitedFor: () =>
      until("another transaction waits", async () => {
        return (await query(blocked, [row?.["pid"]])).length > 0;
      }),
  };
}

const ROUNDS = 150;

describe("two processes that write to one stream", () => {
  test(`get dense offsets in ${ROUNDS} rounds, and every value is written once and in order`, async () => {
    const environment = new VirtualEnvironment();
    const schema = ownSchema();
    const one = await openStoreFor([ALPHA], { environment, schema });
    const other = await openStoreFor([], { environment, schema });
    const { held, tasks } = await writing(one, "a");
    const expected = new Map<number, string[]>([0, 2, 3].map((call) => [call, []]));
    const next = (task: TaskClaim, round: number, count: number): AppendItem => {
      const written = expected.get(task.sequence) ?? [];
      const values = Array.from({ length: count }, (_, i) => `${round}.${i}`);
      const item = appendItem(task, values, {
        run: `run-of-${task.sequence}`,
        position: written.length,
      });
      written.push(...item.values);
      return item;
    };
    for (let round = 0; round < ROUNDS; round++) {
      const first = next(tasks[0], round, 1 + (round % 3));
      const second = next(tasks[1], round, 1 + (round % 2));
      const value = `"turn ${round}"`;
      expected.get(0)?.push(value);
      const turn = turnItem(held, { streams: [{ name: TOKENS, values: [value] }] });
      const results = await Promise.all([
        one.commit([first]),
        other.commit([second]),
        other.commit([first]), // sent again because its answer was lost
        one.commit(round % 2 === 0 ? [turn, second] : [turn]),
      ]);
      for (const { kind } of results.flat()) expect(["done", "committed"]).toContain(kind);
    }
    const { chunks, next: end } = await page({ provider: one }, { chunksMax: 10 * ROUNDS });
    let offset = 0;
    const found = new Map<number, string[]>([0, 2, 3].map((call) => [call, []]));
    for (const chunk of chunks) {
      expect(chunk.offset).toBe(offset);
      if (chunk.kind === "reset") throw new Error("there must be no reset");
      expect(chunk.damaged).toBeUndefined();
      offset += chunk.count;
      found.get(chunk.call)?.push(...chunk.values);
    }
    expect(end).toBe(offset);
    expect(found).toEqual(expected);
  });

  test("begin the stream at the same time, in many rounds, without a gap or a lost value", async () => {
    const environment = new VirtualEnvironment();
    const schema = ownSchema();
    const one = await openStoreFor([ALPHA], { environment, schema });
    const other = await openStoreFor([], { environment, schema });
    const { held, tasks } = await writing(one, "a");
    for (let round = 0; round < ROUNDS / 3; round++) {
      const name = `stream-${round}`;
      const closes = round % 2 === 0;
      const turn = turnItem(held, {
        streams: [{ name, values: ['"t"'], ...(closes ? { closes } : {}) }],
      });
      const results = await Promise.all([
        one.commit([appendItem(tasks[0], [2], { name, run: name })]),
        other.commit([appendItem(tasks[1], [3], { name, run: name })]),
        one.commit([turn]),
      ]);
      const written = results.flat().filter(({ kind }) => kind !== "refused");
      if (!closes) expect(written).toHaveLength(3);
      const read = await page({ provider: one }, { name });
      expect(read.isOver).toBe(closes);
      expect(read.next).toBe(written.length);
      const values = entries(read);
      expect(values.map((value) => Number(value.split(":")[0]))).toEqual(
        written.map((_, index) => index),
      );
      // An append that was refused as STREAM_CLOSED is not after the close.
      if (closes) expect(written.length).toBeGreaterThanOrEqual(1);
    }
  });
});

describe("a takeover of the task", () => {
  test("that commits while an append waits for the task refuses the append", async () => {
    const environment = new VirtualEnvironment(); // the store waits long for locks
    const schema = ownSchema();
    const store = await openStoreFor([ALPHA], { environment, schema });
    const { tasks, held } = await writing(store, "a");
    await store.commit([appendItem(tasks[0], [1])]);
    const taken = await openTransaction(
      `UPDATE ${schema}.tasks SET lease_token = 7 WHERE instance = ${held.key} AND sequence = 2`,
    );
    const late = store.commit([
      appendItem(tasks[0], [2], { position: 1 }),
      appendItem(tasks[1], [3]),
    ]);
    await taken.isWaitedFor();
    await taken.commit();
    expect(await late).toEqual([LEASE_LOST, DONE]);
    expect(entries(await page({ provider: store }))).toEqual(["0:2=1", "1:3=3"]);
  });

  test("waits for an append that has passed its check and waits for the stream; the next append is refused", async () => {
    const environment = new VirtualEnvironment();
    const schema = ownSchema();
    const store = await openStoreFor([ALPHA], { environment, schema });
    const other = await openStoreFor([BETA], { environment, schema });
    const { tasks, held } = await writing(store, "a", 1_000);
    await store.commit([appendItem(tasks[0], [1])]);
    const locked = await openTransaction(
      `SELECT 1 FROM ${schema}.streams WHERE instance = ${held.key} FOR UPDATE`,
    );
    const waiting = store.commit([appendItem(tasks[0], [2], { position: 1 })]);
    await locked.isWaitedFor();
    await environment.advance(2_000);
    const request = {
      owner: BETA,
      limit: 2,
      names: [CHARGE],
      tags: "any",
      sessions: null,
    } as const;
    const lease = async () => {
      const { tasks } = await other.leaseTasks({ ...request, token: fresh(), allowSuspect: true });
      return tasks;
    };
    expect(await lease()).toEqual([]);
    await locked.commit();
    expect(await waiting).toEqual([DONE]);
    const [taken] = await lease();
    if (taken === undefined) throw new Error("the task was not taken over");
    expect(taken.sequence).toBe(2);
    const late = appendItem(tasks[0], [3], { position: 2 });
    expect(await store.commit([late])).toEqual([LEASE_LOST]);
    await other.commit([appendItem(taken, [4], { run: "run-2" })]);
    expect(await store.commit([late])).toEqual([LEASE_LOST]);
    expect(entries(await page({ provider: store }))).toEqual([
      "0:2=1",
      "1:2=2",
      "2:2 reset 0",
      "3:2=4",
    ]);
  });
});

describe("the cost of a group", () => {
  test("with many appends, writes of turns and outcomes is one round trip", async () => {
    const store = await openStoreFor([ALPHA], { notifications: false });
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, index) => writing(store, `instance-${index}`)),
    );
    const group = (position: number): CommitItem[] =>
      all.flatMap(({ held, tasks: [first, second] }, index) => [
        appendItem(first, ["x"], { position }),
        appendItem(second, ["y", "z"], { position: 2 * position }),
        turnItem(held, {
          streams: [{ name: TOKENS, values: ['"t"'] }],
          ...(position === 1 && index % 2 === 0
            ? { finished: [{ ...second, streamValues: 4 }] }
            : {}),
        }),
        ...(position === 1
          ? [
              {
                kind: "completion",
                task: { ...first, streamValues: 2 },
                outcome: outcomeText(2),
              } as const,
            ]
          : []),
      ]);
    await store.commit(group(0)); // the first use of a connection reads settings
    const count = countRoundTrips();
    const results = await store.commit(group(1));
    expect(count()).toBe(1);
    for (const { kind } of results) expect(["done", "committed"]).toContain(kind);
    const { chunks } = await page({ provider: store }, { id: "instance-0", settled: true });
    const states = chunks.flatMap((chunk) => (chunk.kind === "items" ? [chunk.state] : []));
    expect(states).toEqual(Array(6).fill("settled"));
  });

  test("without streams includes no statement about streams", async () => {
    const { url } = await postgres();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    onTestFinished(() => pool.end());
    const options = { schema: ownSchema(), notifications: false, prepare: true };
    const store = await PostgresProvider.open(pool, options);
    await store.registerRuntime(registration({ id: ALPHA }));
    const { held, tasks } = await writing(store, "a");
    await store.commit([
      turnItem(held, { events: [eventText()], finished: [tasks[0]] }),
      { kind: "completion", task: tasks[1], outcome: outcomeText(3) },
      sendItem({ id: "a" }),
    ]);
    const prepared = async (): Promise<number> => {
      const sql = "SELECT 1 FROM pg_prepared_statements WHERE statement LIKE '%streams%'";
      return (await pool.query(sql)).rows.length;
    };
    expect(await prepared()).toBe(0);
    const streams = [{ name: TOKENS, values: ["1"] }];
    await store.commit([turnItem({ ...held, lastEvent: 2 }, { streams })]);
    expect(await prepared()).toBeGreaterThan(0);
  });
});

test("PostgreSQL adds an offset to a checksum as JavaScript does", async () => {
  const schema = ownSchema();
  await openStoreFor([], { schema });
  const { query } = await postgres();
  const numbers = [0, 1, 77, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 5, Number.MAX_SAFE_INTEGER];
  const texts = ["", "a", "b", '["x"]', "ünïcode", "long".repeat(50)];
  for (const text of texts) {
    for (const number of numbers) {
      const sql = `SELECT ${schema}.checksum_with($1::bigint, $2::bigint)::text AS sum`;
      const [row] = await query(sql, [checksumOf(text), number]);
      expect(Number(row?.["sum"]), `${text} and ${number}`).toBe(checksumOf(text, number));
    }
  }
});
