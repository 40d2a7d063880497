// Tags: which worker runs which activity. Also errors that pass through helper functions.

import { expect, test } from "vitest";
import {
  activity,
  orchestration,
  type LogLevel,
  type OrchestrationContext,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { failureOf, newStore, open } from "./support.ts";

const tagsOf = activity("tagsOf", async (_: undefined, { info }) => info.tags);
const named = (name: string) =>
  activity(name, async (input: string, { info }) => `${name}(${input}) on ${info.tags.join()}`);

test("an activity sees the tags of its call", async () => {
  const main = orchestration("main", (ctx) => ctx.run(tagsOf, undefined, { tags: "gpu" }));
  const { client } = await open([main, tagsOf], { runtime: { tags: "any" } });
  expect(await (await client.start(main)).result()).toEqual(["gpu"]);
});

test("an activity called without tags sees an empty list of tags", async () => {
  const main = orchestration("main", (ctx) => ctx.run(tagsOf));
  const { client } = await open([main, tagsOf]);
  expect(await (await client.start(main)).result()).toEqual([]);
});

test("a call or a definition can set one or several tags", async () => {
  const tagged = activity("tagged", async (_: undefined, { info }) => info.tags, {
    tags: ["b", "a"],
  });
  const main = orchestration("main", (ctx) =>
    ctx.all([
      ctx.run(tagged),
      ctx.run(tagged, undefined, { tags: "c" }),
      ctx.run(tagged, undefined, { tags: [] }),
      ctx.run(tagsOf, undefined, { tags: ["z", "y", "z"] }),
    ]),
  );
  const { client } = await open([main, tagged, tagsOf], { runtime: { tags: "any" } });
  expect(await (await client.start(main)).result()).toEqual([["a", "b"], ["c"], [], ["y", "z"]]);
});

test("a worker without tags does not run tagged activities", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race({ gpu: ctx.run(tagsOf, undefined, { tags: "gpu" }), late: ctx.sleep(50) }),
  );
  const { client } = await open([main, tagsOf]);
  expect((await (await client.start(main)).result()).key).toBe("late");
});

test("every kind of tag filter is accepted, and an invalid filter is refused", async () => {
  const filters: NonNullable<RuntimeOptions["tags"]>[] = [
    "untagged",
    "any",
    "none",
    { tags: ["gpu"], untagged: false },
    { tags: ["gpu", "eu"], untagged: true },
  ];
  for (const tags of filters) await open([], { runtime: { tags } });
  const wrong = { tags: "gpu" } as unknown as RuntimeOptions;
  expect(await failureOf(open([], { runtime: wrong }))).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a worker with tags: any runs tagged and untagged activities", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.all([ctx.run(tagsOf), ctx.run(tagsOf, undefined, { tags: ["gpu", "eu"] })]),
  );
  const { client } = await open([main, tagsOf], { runtime: { tags: "any" } });
  expect(await (await client.start(main)).result()).toEqual([[], ["eu", "gpu"]]);
});

test("each tagged activity of a pipeline runs on the worker with its tag", async () => {
  const store = newStore();
  const [render, encode, upload] = [named("render"), named("encode"), named("upload")];
  const film = orchestration("film", async (ctx, title: string) => {
    const frames = await ctx.run(render, title, { tags: "gpu" });
    const file = await ctx.run(encode, "frames", { tags: "cpu" });
    return [frames, file, await ctx.run(upload, "file")];
  });
  const { client } = await open([film, upload], { store });
  await open([render], { store, runtime: { tags: { tags: ["gpu"], untagged: false } } });
  await open([encode], { store, runtime: { tags: { tags: ["cpu"], untagged: false } } });
  expect(await (await client.start(film, "dawn")).result()).toEqual([
    "render(dawn) on gpu",
    "encode(frames) on cpu",
    "upload(file) on ",
  ]);
});

test("an orchestration can fall back to untagged workers after a timeout", async () => {
  const render = named("render");
  const main = orchestration("main", async (ctx) => {
    const fast = await ctx.race({
      gpu: ctx.run(render, "x", { tags: "gpu" }),
      late: ctx.sleep(30),
    });
    return fast.key === "gpu" ? fast.value : ctx.run(render, "x");
  });
  const { client } = await open([main, render]);
  expect(await (await client.start(main)).result()).toBe("render(x) on ");
});

test("a runtime without activities and a worker with tags share a store", async () => {
  const store = newStore();
  const render = named("render");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.run(render, "1", { tags: "gpu" });
    return [first, await ctx.run(render, "2", { tags: "gpu" })];
  });
  const orchestrator = await open([main], { store, runtime: { tags: "none" } });
  const handle = await orchestrator.client.start(main);
  await open([render], { store, runtime: { tags: { tags: ["gpu"], untagged: true } } });
  expect(await handle.result()).toEqual(["render(1) on gpu", "render(2) on gpu"]);
});

const check = activity("check", async (what: string) => {
  if (what === "bad") throw new TypeError(`${what} is not allowed`);
  return `${what} is fine`;
});

async function checkBoth(ctx: OrchestrationContext<string>, what: string): Promise<string> {
  const first = await ctx.run(check, "good");
  return `${first}, ${await ctx.run(check, what)}`;
}

test("an error passes through helper functions to the orchestration", async () => {
  const main = orchestration("main", (ctx, what: string) => checkBoth(ctx, what));
  const { client } = await open([main, check]);
  expect(await (await client.start(main, "so-so")).result()).toBe("good is fine, so-so is fine");
  expect(await failureOf((await client.start(main, "bad")).result())).toMatchObject({
    kind: "failed",
    message: "bad is not allowed",
    cause: { name: "ActivityError", cause: { name: "TypeError" } },
  });
});

test("an orchestration can catch an error, log it once and rethrow it", async () => {
  const lines: [LogLevel, string][] = [];
  const main = orchestration("main", async (ctx, what: string) => {
    try {
      return await checkBoth(ctx, what);
    } catch (error) {
      ctx.log.error("check failed", { what });
      await ctx.run(check, "good");
      throw error;
    }
  });
  const { client } = await open([main, check], {
    runtime: { stickyCacheMax: 0, log: (level, message) => lines.push([level, message]) },
  });
  expect(await failureOf((await client.start(main, "bad")).result())).toMatchObject({
    message: "bad is not allowed",
  });
  expect(lines.filter(([, message]) => message === "check failed")).toEqual([
    ["error", "check failed"],
  ]);
});
