// Query plans made while the tables were empty are still good when the tables are full (settings.1).

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { generatedBefore } from "../../../src/core/ids/request-ids.ts";
import type { CommitItem, EnqueueKey, TurnItem } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import {
  ALPHA,
  askerOf,
  askItem,
  askStart,
  BETA,
  CHARGE,
  claimOf,
  eventText,
  fresh,
  newTask,
  outcomeText,
  registration,
  sendItem,
  sessionsOf,
  startedText,
  startItem,
  TARGETS,
  terminateItem,
  turnItem,
  withdrawItem,
  type Held,
} from "../../../src/testing/conformance/fixture.ts";
import { enqueueItem } from "../../../src/testing/conformance/jobs/job-steps.ts";
import { appendItem, page, TOKENS } from "../../../src/testing/conformance/streams/stream-steps.ts";
import { postgres } from "../../support/postgres.ts";
import { ownSchema, rowsRead } from "./support.ts";

const CROWD = 2_000;
const GROUP = 250;

test("plans made on an empty store do not read excess rows of a full store", async () => {
  const schema = ownSchema();
  const { url, query } = await postgres();
  // One connection, because plans belong to a connection.
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(() => pool.end());
  const options = { schema, notifications: false, prepare: true };
  const store = await PostgresProvider.open(pool, options);
  for (const id of [ALPHA, BETA]) await store.registerRuntime(registration({ id }));
  const tables = await query(
    "SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'",
    [schema],
  );
  for (const { relname } of tables) {
    await query(`ALTER TABLE ${schema}.${String(relname)} SET (autovacuum_enabled = off)`);
  }
  await everything(store, "before");
  for (const { relname } of tables) await query(`VACUUM ANALYZE ${schema}.${String(relname)}`);
  await everything(store, "first"); // all statements are planned now, with statistics of almost empty tables
  expect(await tableScans(pool)).toEqual([]);
  await crowd(store);

  const before = await rowsRead(pool, schema);
  await everything(store, "second");
  const after = await rowsRead(pool, schema);
  for (const [table, rows] of after) {
    if (table === "tallies") continue; // how many changes are not folded yet is random (0008-tallies.2)
    expect(rows - (before.get(table) ?? 0), `rows read of ${table}`).toBeLessThan(CROWD / 2);
  }
});

/** Many instances leased by ALPHA, with queued tasks, messages and timers. */
async function crowd(store: PostgresProvider): Promise<void> {
  for (let from = 0; from < CROWD; from += GROUP) {
    const items = Array.from({ length: GROUP }, (_, i) =>
      startItem({
        id: `crowd-${from + i}`,
        name: "crowd",
        lease: { owner: ALPHA, token: fresh() },
      }),
    );
    const results = await store.commit(items);
    const turns = items.map((item, i) => {
      const result = results[i];
      const key = result?.kind === "started" ? result.key : -1;
      const held = { id: item.id, runId: "", key, execution: 1, token: item.lease?.token ?? 0 };
      return turnItem(
        { ...held, lastEvent: 0 },
        {
          events: [eventText()],
          tasks: [newTask({ sequence: 2, name: "crowd task" })],
          timers: [{ kind: "timer", sequence: 3, delayMs: 3_600_000 }],
        },
      );
    });
    await store.commit(turns);
    await streams(store, turns);
    await store.commit(
      items.map(({ id }) => startItem({ id: `pending-${id}`, name: "pending", events: [] })),
    );
    // Request ids that look old: continue-as-new searches among them.
    const old = generatedBefore(0);
    await store.commit(items.map(({ id }) => sendItem({ id, requestId: `${old}-${id}` })));
    const asker = { id: "crowd-0", runId: "", execution: 1, sequence: 2 };
    await store.commit(items.map(({ id }) => askItem({ id, requestId: `${old}-${id}`, asker })));
    await store.commit(
      items.map(({ id }) => enqueueItem(`keyed-${id}`, keyOf("throttle", id), { name: "keyed" })),
    );
    // One instance for every other key waits for the end of a running one.
    const waiting = items.slice(0, 20).map(({ id }) => `waiting-${id}`);
    for (const id of waiting) await waitFor(store, id);
  }
}

function keyOf(kind: EnqueueKey["kind"], key: string): EnqueueKey {
  if (kind === "unique") return { kind, key, onConflict: "replace" };
  if (kind === "debounce") return { kind, key, waitMs: 3_600_000, maxMs: null };
  return { kind, key, perMs: 3_600_000, trailing: true };
}

/** Two unique starts under one key: the second one waits for the end of the first one, which runs. */
async function waitFor(store: PostgresProvider, id: string): Promise<Held> {
  const first = enqueueItem(id, keyOf("unique", id), { name: "waiting" });
  const [started] = await store.commit([first]);
  const key = started?.kind === "started" ? started.key : -1;
  const token = fresh();
  const { instances } = await store.leaseInstances({
    owner: ALPHA,
    token,
    limit: 1,
    targets: ["waiting"],
    allowSuspect: false,
    messagesMax: 10,
  });
  expect(instances).toMatchObject([{ id }]);
  const held = { id, runId: first.start.runId, key, execution: 1, token, lastEvent: 0 };
  const lease = { owner: ALPHA, token: 77 };
  const consumed = instances.flatMap(({ messages }) => messages.map((message) => message.id));
  const tasks = [newTask({ sequence: 2, lease })];
  await store.commit([turnItem(held, { consumed, tasks })]);
  const next = enqueueItem(`${id}-next`, keyOf("unique", id), { name: "waiting" });
  const [waits] = await store.commit([next]);
  expect(waits).toMatchObject({ kind: "started", id: `${id}-next` });
  return held;
}

/** Keyed starts of every kind, the end of an instance that another one waits for, and deletions. */
async function keyed(store: PostgresProvider, id: string): Promise<void> {
  const held = await waitFor(store, `${id}-unique`);
  for (const kind of ["unique", "debounce", "throttle"] as const) {
    const key = keyOf(kind, `${id}-${kind}`);
    for (const n of [1, 2, 3]) {
      const item = enqueueItem(`${id}-${kind}-${n}`, key, {
        name: kind === "unique" ? "waiting" : "keyed",
      });
      const [result] = await store.commit([item]);
      expect(result?.kind).toMatch(/started|existing|replaced/);
    }
  }
  const group = [1, 2].map((n) =>
    enqueueItem(`${id}-group-${n}`, keyOf("unique", `${id}-group-${n}`), { name: "keyed" }),
  );
  for (const { kind } of await store.commit(group)) expect(kind).toBe("started");
  const ended = { kind: "ended", status: "completed", output: "1", error: null } as const;
  const [result] = await store.commit([turnItem(held, { events: [eventText()], change: ended })]);
  expect(result).toMatchObject({ kind: "committed" });
  const ids = [
    `${id}-unique`,
    `${id}-unique-next`,
    ...["debounce-1", "throttle-1", "throttle-2", "group-1", "group-2"].map((n) => `${id}-${n}`),
  ];
  for (const each of ids) {
    const { kind } = await store.deleteInstance({ id: each, force: true });
    expect([each, kind]).toEqual([each, "deleted"]);
  }
}

/** Turns that follow `turns` and lease a task each, and writes of those turns and tasks to a stream. */
async function streams(store: PostgresProvider, turns: readonly TurnItem[]): Promise<void> {
  const lease = { owner: ALPHA, token: 78 };
  const values = { streams: [{ name: TOKENS, values: ["1"] }] };
  const tasks = [newTask({ sequence: 4, name: "crowd task", lease })];
  const held = turns.map((turn) => ({ ...turn, id: "", runId: "", lastEvent: 1 }));
  await store.commit(held.map((each) => turnItem(each, { tasks, ...values })));
  const results = await store.commit(
    held.map((each) => appendItem(claimOf({ ...each, sequence: 4 }, lease.token), [1])),
  );
  expect(results.every(({ kind }) => kind === "done")).toBe(true);
}

/** Each of the calls that a runtime makes regularly, once. */
async function everything(store: PostgresProvider, id: string): Promise<void> {
  await store.deleteEnded({ status: "completed", completedBefore: 1, limit: 100, cursor: null });
  const token = fresh();
  const item = startItem({ id, requestId: id, lease: { owner: ALPHA, token }, events: [] });
  const [started] = await store.commit([item]);
  if (started?.kind !== "started") throw new Error("the instance was not started");
  const held: Held = { id, runId: item.runId, key: started.key, execution: 1, token, lastEvent: 0 };
  const turn = async (fields: Parameters<typeof turnItem>[1]): Promise<void> => {
    const [result] = await store.commit([turnItem(held, fields)]);
    expect(result).toMatchObject({ kind: "committed" });
    held.lastEvent += fields?.events?.length ?? 0;
  };
  const lease = { owner: ALPHA, token: 77 };
  const { key } = held;
  await turn({
    version: "1.0.0",
    events: [eventText()],
    consumed: [started.leased?.id ?? -1],
    tasks: [newTask({ sequence: 10, lease }), newTask({ sequence: 11 }), newTask({ sequence: 12 })],
    timers: [{ kind: "timer", sequence: 13, delayMs: 60_000 }],
    state: {
      status: { value: "1" },
      attributes: { a: "b" },
      keyValues: [{ key: "k", value: "v" }],
    },
  });
  const leasedTask = claimOf({ key, execution: 1, sequence: 10 }, 77);
  await turn({
    events: [eventText()],
    finished: [leasedTask],
    cancelledTasks: [12],
    cancelledTimers: [{ kind: "timer", sequence: 13 }],
    starts: [{ ...item, id: `${id}-child` }],
    sends: [{ to: { id }, kind: "event", execution: null, sequence: null, data: "1", key: null }],
  });
  await store.commit([sendItem({ id, requestId: `event for ${id}` })]);
  const request = { limit: 5, names: [CHARGE], tags: "any", allowSuspect: true } as const;
  const tasksRequest = { ...request, owner: ALPHA, token: fresh(), sessions: sessionsOf(ALPHA) };
  const { tasks } = await store.leaseTasks(tasksRequest);
  expect(tasks).toHaveLength(1);
  const [task] = tasks;
  if (task === undefined) throw new Error("no task was leased");
  await store.renewTasks(tasks, 1_000);
  await store.heartbeatTasks([{ task, details: "1", progress: "2" }]);
  await store.lostTasks(tasks);
  await store.commit([{ kind: "retry", task, delayMs: 0, failure: "{}" }]);
  const [retried] = (await store.leaseTasks({ ...tasksRequest, token: fresh() })).tasks;
  if (retried === undefined) throw new Error("no task was leased");
  await store.commit([{ kind: "completion", task: retried, outcome: outcomeText(11) }]);
  await store.takeMessages([key], 10);
  await store.commit([{ kind: "releaseInstance", key, token }]);
  const { instances: begun } = await store.leaseInstances({
    owner: BETA,
    token: fresh(),
    limit: 5,
    targets: ["pending"],
    heldBack: [{ target: "pending", priority: 3 }],
    allowSuspect: false,
    messagesMax: 10,
  });
  expect(begun).toEqual([]);
  const leased = await store.leaseInstances({
    owner: BETA,
    token: fresh(),
    limit: 5,
    targets: TARGETS,
    allowSuspect: false,
    messagesMax: 10,
  });
  expect(leased.instances.map((instance) => instance.id).toSorted()).toEqual([id, `${id}-child`]);
  await heldDue(store, `${id}-held`);
  await asking(store, id);
  await streaming(store, id);
  await keyed(store, id);
  await store.renewInstances([{ key, token: 0 }], 1_000);
  await store.peek({ owner: BETA });
  await store.readInstance(id);
  await store.readHistory({ key, execution: 1 });
  await store.readHistory({ key, execution: 1, after: 1, limit: 1 });
  for (const over of leased.instances) {
    const last = { ...over, runId: "" };
    const version = "1.0.0";
    const continued = { kind: "continued", started: startedText(), version, unread: [] } as const;
    await store.commit([turnItem(last, { events: [eventText()], change: continued })]);
    Object.assign(last, { execution: 2, lastEvent: 0 });
    const ended = { kind: "ended", status: "completed", output: "1", error: null } as const;
    await store.commit([turnItem(last, { events: [eventText()], change: ended })]);
  }
}

/** Writes of a turn and of two runs of an activity, an outcome, reads and a trim. */
async function streaming(store: PostgresProvider, id: string): Promise<void> {
  const lease = { owner: ALPHA, token: fresh() };
  const item = startItem({ id: `${id}-streaming`, name: "streaming", lease });
  const [started] = await store.commit([item]);
  const key = started?.kind === "started" ? started.key : -1;
  const held = { id: item.id, runId: item.runId, key, execution: 1, ...lease, lastEvent: 0 };
  const streams = [{ name: TOKENS, values: ["1"] }];
  const task = claimOf({ key, execution: 1, sequence: 2 });
  const other = claimOf({ key, execution: 1, sequence: 3 });
  const outcome = outcomeText(2);
  const completion = { kind: "completion", task: { ...task, streamValues: 1 }, outcome } as const;
  const short = { ...completion, task: { ...task, streamValues: 9 } };
  const items: readonly CommitItem[] = [
    turnItem(held, {
      tasks: [2, 3].map((sequence) => newTask({ sequence, lease: { owner: ALPHA, token: 77 } })),
    }),
    turnItem(held, { streams }),
    appendItem(task, [1]),
    appendItem(task, [2], { position: 1 }),
    appendItem(task, [3], { run: "run-2" }), // stepwise
    appendItem(other, [1]),
    completion,
    turnItem(held, { finished: [{ ...other, streamValues: 1 }] }),
  ];
  for (const each of items) {
    if (each === completion) await store.commit([short]); // refused, stepwise
    const [result] = await store.commit([each]);
    expect(result?.kind).toMatch(/committed|done/);
  }
  for (const settled of [false, true]) {
    expect((await page({ provider: store }, { id: item.id, settled })).chunks).toHaveLength(6);
  }
  expect(await store.listStreams(item.id)).toHaveLength(1);
  await store.commit([{ kind: "trim", id: item.id, name: TOKENS, before: 3 }]);
  await store.deleteInstance({ id: item.id, force: true });
}

/** Asks of a client and of a turn, answers, and the end of an instance that owes an answer. */
async function asking(store: PostgresProvider, id: string): Promise<void> {
  const [asker, asked] = await Promise.all(
    [`${id}-asker`, `${id}-asked`].map(async (name): Promise<Held> => {
      const lease = { owner: ALPHA, token: fresh() };
      const item = startItem({ id: name, name: "asking", lease });
      const [result] = await store.commit([item]);
      const key = result?.kind === "started" ? result.key : -1;
      return { id: name, runId: item.runId, key, execution: 1, token: lease.token, lastEvent: 0 };
    }),
  );
  if (asker === undefined || asked === undefined) throw new Error("the instances were not started");
  const own = askItem({ id: asked.id });
  const toMissing = askItem({ id: "missing", asker: askerOf(asker) });
  const toAsked = askItem({ id: asked.id, asker: askerOf(asker) });
  const withdrawn = askItem({ id: asked.id, asker: askerOf(asker) });
  const items: readonly CommitItem[] = [
    own,
    turnItem(asked, { answers: [{ requestId: own.requestId, answer: "{}" }] }),
    turnItem(asker, { dispatched: [{ sequence: 2, item: toAsked }] }),
    turnItem(asker, { dispatched: [{ sequence: 3, item: toMissing }] }),
    withdrawn,
    withdrawItem(withdrawn),
    turnItem(asked, {
      change: { kind: "ended", status: "completed", output: "1", error: null },
    }),
    askItem({ id: asked.id, start: askStart(asked.id, { name: "asking", onConflict: "restart" }) }),
    terminateItem(asked.id),
  ];
  for (const item of items) {
    const [result] = await store.commit([item]);
    expect(result?.kind).toMatch(/asked|committed|done/);
  }
  const read = await store.readAsks(asked.id, [own.requestId, toAsked.requestId]);
  expect(read?.asks.map(({ state }) => state).toSorted()).toEqual(["answered", "finished"]);
  await store.commit([terminateItem(asker.id)]);
  for (const held of [asker, asked]) await store.deleteInstance({ id: held.id, force: true });
}

/** A request of a runtime that holds an instance with a due message, and in the full store thousands of others. */
async function heldDue(store: PostgresProvider, id: string): Promise<void> {
  const name = "held";
  const lease = { owner: ALPHA, token: fresh() };
  await store.commit([startItem({ id, name, requestId: null, lease, events: [] })]);
  const { instances } = await store.leaseInstances({
    owner: ALPHA,
    token: fresh(),
    limit: 5,
    targets: [name],
    allowSuspect: false,
    messagesMax: 10,
  });
  expect(instances).toMatchObject([{ id, fresh: false }]);
  await store.commit([
    { kind: "releaseInstance", key: instances[0]?.key ?? 0, token: lease.token },
  ]);
  await store.deleteInstance({ id, force: true });
}

/** The plans of prepared statements that scan a whole table, except for its first row. */
async function tableScans(pool: pg.Pool): Promise<string[]> {
  const found: string[] = [];
  await pool.query("SET plan_cache_mode = force_generic_plan");
  const { rows } = await pool.query<{ name: string; statement: string }>(
    "SELECT name, statement FROM pg_prepared_statements WHERE name LIKE 'perdure%'",
  );
  expect(rows.length).toBeGreaterThan(40);
  for (const { name, statement } of rows) {
    if (/^\s*(BEGIN|COMMIT|ROLLBACK)/.test(statement)) continue;
    const count = Math.max(0, ...[...statement.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
    const values = count === 0 ? "" : `(${Array<string>(count).fill("NULL").join(", ")})`;
    const explained = await pool.query<Record<string, string>>(`EXPLAIN EXECUTE ${name}${values}`);
    const lines = explained.rows.map((row) => row["QUERY PLAN"] ?? "");
    lines.forEach((line, i) => {
      const isScan =
        / Scan .*on (instances|inbox|tasks|history|requests|kv|kept|streams|stream_calls|stream_chunks|enqueue_keys)\b/.test(
          line,
        );
      const isLookUp = (lines[i + 1] ?? "").includes("Index Cond");
      if (isScan && !isLookUp && !(lines[i - 1] ?? "").includes("Limit")) {
        found.push(`${statement}\n${lines.join("\n")}`);
      }
    });
  }
  await pool.query("RESET plan_cache_mode");
  return found;
}
