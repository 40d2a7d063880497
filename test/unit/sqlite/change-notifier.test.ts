import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { News } from "../../../src/core/provider/notifications.ts";
import {
  newTask,
  scheduledText,
  startedText,
  startItem,
  turnItem,
} from "../../../src/testing/conformance/fixture.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

const PATIENT = { timeout: 20_000 };

let folder: string;
let here: SqliteProvider;
let there: SqliteProvider;
let received: News[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-news-"));
  here = await SqliteProvider.open(join(folder, "store.db"));
  there = await SqliteProvider.open(join(folder, "store.db"));
  received = [];
});
afterEach(async () => {
  await here.close();
  await there.close();
  rmSync(folder, { recursive: true });
});
const register = (provider: SqliteProvider, id: string) =>
  provider.registerRuntime({ id, nodeId: id, process: null, hostname: "h", registered: "{}" });

test("a write of another connection is noticed without a poll", async () => {
  here.subscribe((news) => received.push(news));
  await there.commit([startItem({ id: "a" })]);
  await vi.waitFor(
    () => expect(received).toEqual([expect.objectContaining({ elsewhere: true })]),
    PATIENT,
  );
});

test("a commit of this connection is notified at once, by instance id, and not again as a foreign change", async () => {
  here.subscribe((news) => received.push(news));
  await here.commit([startItem({ id: "a" })]);
  expect(received).toEqual([{ due: ["a"], changed: [], tasks: false, elsewhere: false }]);
  await pause(50);
  expect(received).toHaveLength(1);
});

test("a foreign change just before an own commit is notified with it or before it", async () => {
  await there.commit([startItem({ id: "theirs" })]);
  here.subscribe((news) => received.push(news));
  await here.commit([startItem({ id: "mine" })]);
  expect(received.flatMap(({ due }) => due)).toEqual(["mine"]);
  expect(received[0]).toMatchObject({ elsewhere: true });
});

test("heartbeats of other runtimes do not notify", async () => {
  await register(there, "r");
  await pause(20);
  here.subscribe((news) => received.push(news));
  for (let i = 0; i < 5; i += 1) {
    await there.beat("r");
    await pause(5);
  }
  await pause(50);
  expect(received).toEqual([]);
});

test("after unsubscribe no change is notified", async () => {
  const unsubscribe = here.subscribe((news) => received.push(news));
  unsubscribe();
  await there.commit([startItem({ id: "a" })]);
  await pause(50);
  expect(received).toEqual([]);
});

test("the progress of an activity notifies other connections, its heartbeat details do not", async () => {
  const lease = { owner: "r", token: 1 };
  await register(there, "r");
  await there.commit([startItem({ id: "a", lease })]);
  const record = await there.readInstance("a");
  const held = { id: "a", runId: "", key: record?.key ?? 0, execution: 1, token: 1, lastEvent: 0 };
  const events = [startedText(), scheduledText()];
  await there.commit([turnItem(held, { events, tasks: [newTask({ sequence: 2, lease })] })]);
  const task = { key: held.key, execution: 1, sequence: 2, token: 1 };
  await pause(20);
  here.subscribe((news) => received.push(news));
  await there.heartbeatTasks([{ task, details: "1" }]);
  await pause(50);
  expect(received).toEqual([]);
  await there.heartbeatTasks([{ task, progress: "2" }]);
  await vi.waitFor(
    () => expect(received).toEqual([expect.objectContaining({ elsewhere: true })]),
    PATIENT,
  );
});
