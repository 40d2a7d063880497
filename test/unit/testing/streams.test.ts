// The test kit and streams: readers move virtual time, and name what an instance waits for if no entry can come.

import { expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { stream } from "../../../src/stream/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";

const ticks = stream<number>("ticks");
const ticking = orchestration("ticking", async (ctx, count: number) => {
  for (let tick = 0; tick < count; tick++) {
    ctx.stream(ticks).write(tick);
    await ctx.sleep("1m");
  }
  await ctx.waitFor("go");
});

test("reading a stream moves virtual time from entry to entry", async () => {
  await using kit = await TestEnvironment.create({ register: [ticking] });
  const handle = await kit.start(ticking, 3, { id: "t" });
  kit.raiseAt(handle, "go", undefined, "5m");
  const values: unknown[] = [];
  for await (const entry of handle.stream(ticks)) {
    values.push(entry.kind === "item" ? entry.value : entry.kind);
  }
  expect(values).toEqual([0, 1, 2, "end"]);
  expect(kit.now).toEqual(new Date("2026-01-01T00:05:00Z"));
});

test("a reader that would wait forever throws TIMEOUT with the reason", async () => {
  await using kit = await TestEnvironment.create({ register: [ticking] });
  const handle = await kit.start(ticking, 1, { id: "t" });
  const reader = handle.stream(ticks);
  await reader.ready();
  expect((await reader.next()).value).toMatchObject({ value: 0 });
  await expect(reader.next()).rejects.toMatchObject({
    code: "TIMEOUT",
    message: expect.stringContaining('it waits for event "go"') as string,
  });
  await expect(kit.client.get("none").stream(ticks).next()).rejects.toMatchObject({
    code: "INSTANCE_NOT_FOUND",
  });
});

test("values that an activity has written but not flushed reach a reader", async () => {
  const { promise: stop, resolve } = Promise.withResolvers<void>();
  const writing = activity("writing", async (_input: undefined, context) => {
    const out = context.stream(ticks);
    for (const value of [1, 2, 3]) {
      await out.write(value);
      await out.flush();
    }
    await out.write(4);
    await stop;
  });
  const main = orchestration("main", async (ctx) => ctx.run(writing));
  await using kit = await TestEnvironment.create({ register: [main, writing], patienceMs: 50 });
  const handle = await kit.start(main, undefined, { id: "m" });
  const seen: unknown[] = [];
  for await (const entry of handle.stream(ticks)) {
    if (entry.kind === "item") seen.push(entry.value);
    if (seen.length === 4) break;
  }
  expect(seen).toEqual([1, 2, 3, 4]);
  resolve();
  await handle.result();
});
