import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { News } from "../core/provider/notifications.ts";
import {
  newTask,
  scheduledText,
  startedText,
  startItem,
  turnItem,
} from "../testing/conformance/fixture.ts";
import { SqliteProvider } from "./index.ts";

let folder: string;
let here: SqliteProvider;
let there: SqliteProvider;
let heard: News[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-news-"));
  here = await SqliteProvider.open(join(folder, "store.db"));
  there = await SqliteProvider.open(join(folder, "store.db"));
  heard = [];
});
afterEach(async () => {
  await here.close();
  await there.close();
  rmSync(folder, { recursive: true });
});
const register = (provider: SqliteProvider, id: string) =>
  provider.registerRuntime({ id, nodeId: id, process: null, hostname: "h", registered: "{}" });

test("what another connection writes is noticed without asking", async () => {
  here.subscribe((news) => heard.push(news));
  await there.commit([startItem({ id: "a" })]);
  await vi.waitFor(() => expect(heard).toEqual([expect.objectContaining({ elsewhere: true })]));
});

test("one's own commit is told at once, by name, and not again as another's", async () => {
  here.subscribe((news) => heard.push(news));
  await here.commit([startItem({ id: "a" })]);
  expect(heard).toEqual([{ due: ["a"], changed: [], tasks: false, elsewhere: false }]);
  await pause(50);
  expect(heard).toHaveLength(1);
});

test("news of another's that came just before one's own is told with it", async () => {
  await there.commit([startItem({ id: "theirs" })]);
  here.subscribe((news) => heard.push(news));
  await here.commit([startItem({ id: "mine" })]);
  expect(heard[0]).toMatchObject({ due: ["mine"], elsewhere: true });
});

test("beats of others wake nobody", async () => {
  await register(there, "r");
  await pause(20);
  here.subscribe((news) => heard.push(news));
  for (let i = 0; i < 5; i += 1) {
    await there.beat("r");
    await pause(5);
  }
  await pause(50);
  expect(heard).toEqual([]);
});

test("whoever has unsubscribed is watched for no more", async () => {
  const unsubscribe = here.subscribe((news) => heard.push(news));
  unsubscribe();
  await there.commit([startItem({ id: "a" })]);
  await pause(50);
  expect(heard).toEqual([]);
});

test("an activity's progress is noticed by others; its details concern nobody", async () => {
  const lease = { owner: "r", token: 1 };
  await register(there, "r");
  await there.commit([startItem({ id: "a", lease })]);
  const record = await there.readInstance("a");
  const held = { id: "a", runId: "", key: record?.key ?? 0, execution: 1, token: 1, lastEvent: 0 };
  const events = [startedText(), scheduledText()];
  await there.commit([turnItem(held, { events, tasks: [newTask({ sequence: 2, lease })] })]);
  const task = { key: held.key, execution: 1, sequence: 2, token: 1 };
  await pause(20);
  here.subscribe((news) => heard.push(news));
  await there.heartbeatTasks([{ task, details: "1" }]);
  await pause(50);
  expect(heard).toEqual([]);
  await there.heartbeatTasks([{ task, progress: "2" }]);
  await vi.waitFor(() => expect(heard).toEqual([expect.objectContaining({ elsewhere: true })]));
});
