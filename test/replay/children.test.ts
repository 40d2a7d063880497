// Children: their ids, their starts, their outcomes, and the messages to their parents.

import { expect, test } from "vitest";
import { orchestration } from "../../src/core/define/definitions.ts";
import { called, calledDone, childCompleted, childFailed, completed, started } from "./bodies.ts";
import { begin, outputOf, replay, resume, type Handler } from "./support.ts";

test("a child without an id gets an id from its parent's id and its sequence number", async () => {
  const play = await begin(async (ctx) => ctx.call("c"), { id: "order-1" });
  expect(play.last.events[1]).toMatchObject({ id: "order-1::sub::2" });
  expect(play.last.item.starts[0]?.id).toBe("order-1::sub::2");
});

test("from the second execution on, the id contains the execution number", async () => {
  const play = await begin(async (ctx) => ctx.call("c"), { id: "p", execution: 2 });
  expect(play.last.item.starts[0]?.id).toBe("p::sub::2_2");
});

test("the id of a grandchild contains the ids of all its ancestors", async () => {
  const play = await begin(async (ctx) => ctx.call("c"), { id: "p::sub::2" });
  expect(play.last.item.starts[0]?.id).toBe("p::sub::2::sub::2");
});

test("children of one parent have different ids, in one turn and over several", async () => {
  const play = await begin(async (ctx) => {
    await ctx.all([ctx.call("c"), ctx.call("c")]);
    await ctx.call("c");
  });
  const first = play.last.item.starts.map(({ id }) => id);
  const turn = await play.turn(childCompleted(2), childCompleted(3));
  const ids = [...first, ...turn.item.starts.map(({ id }) => id)];
  expect(ids).toEqual(["i::sub::2", "i::sub::3", "i::sub::6"]);
});

test("an explicit id is used unchanged and recorded as explicit", async () => {
  const play = await begin(async (ctx) => ctx.call("c", 1, { id: "mine" }));
  expect(play.last.events[1]).toMatchObject({ id: "mine", explicitId: true });
  expect(play.last.item.starts[0]?.id).toBe("mine");
});

test("in replay a child keeps the id in its history", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await ctx.race([ctx.call("c"), ctx.run("a")]);
    await ctx.sleep(1);
  };
  const history = [
    started(),
    called("c", "named-by-an-older-version"),
    { kind: "ActivityScheduled", name: "a", input: '~["~u"]' } as const,
  ];
  const play = await resume(code, history);
  const turn = await play.turn(completed(3));
  expect(turn.item.sends).toMatchObject([{ to: { id: "named-by-an-older-version" } }]);
});

test("a child's output is the call's value", async () => {
  const child = orchestration("c", async (_ctx, n: number) => ({ doubled: n * 2 }));
  const play = await begin(async (ctx) => (await ctx.call(child, 4)).doubled);
  expect(outputOf(await play.turn(childCompleted(2, { doubled: 8 })))).toBe(8);
});

test("a child's failure, cancellation and termination reject the call", async () => {
  for (const outcome of ["failed", "cancelled", "terminated"] as const) {
    const play = await begin(async (ctx) => ctx.call("c").catch((error: Error) => error.message));
    const turn = await play.turn(childFailed(2, new Error(`it ${outcome}`), outcome));
    expect(outputOf(turn)).toBe(`it ${outcome}`);
    expect(turn.events[0]).toMatchObject({ kind: "ChildFailed", outcome });
  }
});

test("an outcome for another execution of the parent is ignored", async () => {
  const play = await begin(async (ctx) => ctx.call("c"), { execution: 3 });
  const turn = await play.turn({ ...childCompleted(2, "old"), execution: 2 });
  expect(turn.brief).toEqual([]);
  expect(outputOf(await play.turn(childCompleted(2, "new")))).toBe("new");
});

test("a completed child sends its parent one message, addressed by run id and execution", async () => {
  const parent = { id: "p", runId: "r", execution: 2, sequence: 5 };
  const play = await begin(async () => "out", { id: "p::sub::2_5", start: { parent } });
  expect(play.last.item.sends).toEqual([
    {
      to: { id: "p", runId: "r" },
      kind: "child",
      execution: 2,
      sequence: 5,
      data: JSON.stringify({ kind: "ChildCompleted", scheduled: 5, output: '"out"' }),
      key: "c:2:5",
    },
  ]);
});

test("an instance without a parent sends no message", async () => {
  const play = await begin(async () => "out");
  expect(play.last.item.sends).toEqual([]);
});

test("a child's run id and seed are derived from the call, so a repeated turn starts the same child", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.call("c", 1);
  const [one, two] = [await begin(code), await begin(code)];
  expect(one.last.item.starts).toEqual(two.last.item.starts);
  const other = await begin(code, { start: { runId: "f".repeat(32) } });
  expect(other.last.item.starts[0]?.runId).not.toBe(one.last.item.starts[0]?.runId);
});

test("a child of another execution is a different child, even with the same sequence number", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.call("c", 1);
  const first = await begin(code);
  const second = await begin(code, { execution: 2 });
  const [a, b] = [first.last.item.starts[0], second.last.item.starts[0]];
  expect(a?.id).not.toBe(b?.id);
  expect(a?.runId).not.toBe(b?.runId);
});

test("a child inherits its parent's priority", async () => {
  const play = await begin(async (ctx) => ctx.call("c"), { priority: 1 });
  expect(play.last.item.starts[0]).toMatchObject({ priority: 1 });
});

test("many children replay, finished in any order", async () => {
  const history = [
    started(),
    ...[2, 3, 4].map((sequence) => called("c", `i::sub::${sequence}`, sequence)),
    calledDone(4, "four"),
    calledDone(2, "two"),
  ];
  const code: Handler<undefined> = async (ctx) =>
    ctx.all([2, 3, 4].map((sequence) => ctx.call("c", sequence)));
  expect((await replay(code, history)).open).toEqual(["3 child c"]);
  const play = await resume(code, history);
  expect(outputOf(await play.turn(childCompleted(3, "three")))).toEqual(["two", "three", "four"]);
});
