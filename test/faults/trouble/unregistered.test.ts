// Names without a registration: work waits for them, visibly, and is neither failed nor counted (semantics 14).

import { expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { startRuntime, virtualStore, virtualWorld } from "./support.ts";

const MINUTE_MS = 60_000;

test("an orchestration that no worker registers stays pending, and runs once a worker registers it", async () => {
  const { client, provider, environment, logs } = await virtualWorld([]);
  const handle = await client.start("later", { n: 1 }, { id: "a" });
  await environment.advance(MINUTE_MS);
  expect(await handle.describe()).toMatchObject({
    status: "pending",
    name: "later",
    waitingFor: [],
  });
  expect(logs.lines.filter(({ level }) => level === "error")).toEqual([]);

  const later = orchestration("later", async (_, input: { n: number }) => input.n + 1);
  await startRuntime(provider, [later]);
  expect(await handle.result()).toBe(2);
});

test("an instance of a version that no worker registers waits for that version", async () => {
  const old = orchestration("o", async () => "old", { version: "1.0.0" });
  const current = orchestration("o", async () => "new", { version: "2.0.0" });
  const { client, provider, environment } = await virtualWorld([old]);
  const handle = await client.start("o", null, { id: "a", version: "2.0.0" });
  await environment.advance(MINUTE_MS);
  expect(await handle.describe()).toMatchObject({ status: "pending", version: "2.0.0" });
  await startRuntime(provider, [current]);
  expect(await handle.result()).toBe("new");
});

test("an activity that no worker registers waits, its orchestration shows the wait, and no attempt is counted", async () => {
  const work = orchestration("work", async (ctx) => ctx.run("print", "page", { attempts: 3 }));
  const { client, provider, environment } = await virtualWorld([work]);
  const handle = await client.start(work, undefined, { id: "a" });
  await environment.advance(MINUTE_MS);
  expect(await handle.describe()).toMatchObject({
    status: "running",
    waitingFor: [{ kind: "activity", name: "print", attempt: 1 }],
  });

  const attempts: number[] = [];
  const print = activity("print", (page: string, { attempt }) => {
    attempts.push(attempt);
    return `${page} printed`;
  });
  await startRuntime(provider, [print]);
  expect(await handle.result()).toBe("page printed");
  expect(attempts).toEqual([1]);
});

test("a thousand tasks that this worker cannot take do not starve the tasks that it can", async () => {
  const fan = orchestration("fan", async (ctx) => {
    await ctx.all(Array.from({ length: 1_000 }, () => ctx.run("elsewhere")));
  });
  const here = activity("here", () => "here");
  const work = orchestration("work", async (ctx) => ctx.run(here));
  const { client, environment } = await virtualWorld([fan, work, here], { activityConcurrency: 2 });
  const stuck = await client.start(fan, undefined, { id: "stuck" });
  await environment.advance(3_000);
  const handles = await Promise.all(Array.from({ length: 20 }, () => client.start(work)));
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(
    handles.map(() => "here"),
  );
  expect((await stuck.describe()).waitingFor).toHaveLength(1_000);
});

test("without any runtime a start is accepted and kept", async () => {
  const { client, environment, provider } = await virtualStore();
  const handle = await client.start("later", 5, { id: "a" });
  await handle.raise("go", 6);
  await environment.advance(MINUTE_MS);
  expect((await handle.describe()).status).toBe("pending");
  const later = orchestration("later", async (ctx, n: number) => [n, await ctx.waitFor("go")]);
  await startRuntime(provider, [later]);
  expect(await handle.result()).toEqual([5, 6]);
});
