// ctx.info.isReplaying and log lines: only these may differ between a live run and a replay.

import { expect, test } from "vitest";
import { completed, fired, ran, ranDone, slept, started } from "./bodies.ts";
import { begin, outputOf, replayStartOnly, resume, type Handler } from "./support.ts";

test("isReplaying is false in a first execution", async () => {
  const seen: boolean[] = [];
  await begin(
    async (ctx) => {
      seen.push(ctx.info.isReplaying);
      const task = ctx.run("a");
      seen.push(ctx.info.isReplaying);
      await task;
    },
    { checks: "end" },
  );
  expect(seen).toEqual([false, false]);
});

test("isReplaying is true on recorded events and false after them", async () => {
  const seen: boolean[] = [];
  const code: Handler<undefined> = async (ctx) => {
    seen.push(ctx.info.isReplaying);
    await ctx.run("a");
    seen.push(ctx.info.isReplaying);
    await ctx.run("b");
    seen.push(ctx.info.isReplaying);
  };
  const history = [started(), ran("a"), ranDone(2), ran("b")];
  const play = await resume(code, history, { checks: "end" });
  seen.length = 0;
  await play.turn(completed(4));
  expect(seen).toEqual([true, true, false]);
});

test("isReplaying is false in a turn of a live run", async () => {
  const seen: boolean[] = [];
  const play = await begin(
    async (ctx) => {
      await ctx.run("a");
      seen.push(ctx.info.isReplaying);
      await ctx.run("b");
      seen.push(ctx.info.isReplaying);
    },
    { checks: "end" },
  );
  await play.turn(completed(2));
  await play.turn(completed(4));
  expect(seen).toEqual([false, false]);
});

test("isReplaying is false in an execution with only a start message, and its calls are new", async () => {
  const seen: boolean[] = [];
  const play = await resume(
    async (ctx) => {
      seen.push(ctx.info.isReplaying);
      await ctx.run("a");
    },
    [],
    { checks: "end" },
  );
  const turn = await play.turn({ kind: "start", data: JSON.stringify(started()) });
  expect(seen).toEqual([false]);
  expect(turn.brief).toEqual(["OrchestrationStarted main", "ActivityScheduled a"]);
});

test("a history with only the start event runs like a new execution", async () => {
  const seen: boolean[] = [];
  const turn = await replayStartOnly(async (ctx) => {
    seen.push(ctx.info.isReplaying);
    await ctx.run("a");
  });
  expect(seen).toEqual([false]);
  expect(turn.brief).toEqual(["ActivityScheduled a"]);
  expect(turn.blocked).toBeNull();
});

test("log lines of replayed code are not written again", async () => {
  const code: Handler<undefined> = async (ctx) => {
    ctx.log.info("one", { n: 1 });
    await ctx.run("a");
    ctx.log.warn("two");
    await ctx.sleep(1);
    ctx.log.error("three");
  };
  const play = await begin(code);
  expect(play.last.logs).toEqual(["info one"]);
  const history = [started(), ran("a"), ranDone(2), slept(1)];
  const again = await resume(code, history);
  const turn = await again.turn(fired(4));
  expect(turn.logs).toEqual(["error three"]);
});

test("log lines are written with their turn, in order", async () => {
  const play = await begin(async (ctx) => {
    ctx.log.debug("first");
    await ctx.run("a");
    ctx.log.trace("second");
    ctx.log.info("third");
    return "end";
  });
  expect(play.last.logs).toEqual(["debug first"]);
  const turn = await play.turn(completed(2));
  expect(turn.logs).toEqual(["trace second", "info third"]);
  expect(outputOf(turn)).toBe("end");
});

test("members of ctx may be destructured", async () => {
  const play = await begin(async ({ run, sleep, log, now, uuid }) => {
    log.info(`${now().getTime()}`);
    await run("a", uuid());
    await sleep(1);
  });
  expect(play.last.logs).toEqual(["info 1000000"]);
});
