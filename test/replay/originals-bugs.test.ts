// Replay defects of duroxide: each test shows that Perdure does not have the defect.

import { expect, test } from "vitest";
import { nextSeed } from "../../src/core/replay/deterministic.ts";
import type { OrchestrationStarted } from "../../src/core/history/events.ts";
import type { TurnItem } from "../../src/core/provider/commit.ts";
import { cancel, childCompleted, completed, failed, fired, raised } from "./bodies.ts";
import { begin, outputOf, type Handler, type Turn } from "./support.ts";

function nextStart(item: TurnItem): OrchestrationStarted {
  if (item.change.kind !== "continued") throw new Error("the instance did not continue as new");
  return JSON.parse(item.change.started) as OrchestrationStarted;
}

test("a child that continues as new keeps the link to its parent and sends it only the last result", async () => {
  const parent = { id: "p", runId: "r", execution: 3, sequence: 7 };
  const code: Handler<number> = async (ctx, n) =>
    n < 3 ? ctx.continueAsNew(n + 1) : { rounds: n, parent: ctx.info.parent };
  let start: Partial<OrchestrationStarted> = { parent };
  let last: Turn | null = null;
  for (let execution = 1; execution <= 3; execution++) {
    const play = await begin(code, { input: execution, execution, start });
    last = play.last;
    if (execution === 3) break;
    expect(last.item.sends).toEqual([]);
    const next = nextStart(last.item);
    expect(next).toMatchObject({ parent, input: String(execution + 1) });
    start = next;
  }
  expect(last?.item.sends).toMatchObject([
    { to: { id: "p", runId: "r" }, execution: 3, sequence: 7, key: "c:3:7" },
  ]);
  expect(last && outputOf(last)).toEqual({ rounds: 3, parent: { id: "p", sequence: 7 } });
});

test("a child records the execution of its parent that called it", async () => {
  const play = await begin(async (ctx) => ctx.call("c"), { id: "p", execution: 5 });
  const [start] = play.last.item.starts;
  expect(start?.parent).toMatchObject({ id: "p", execution: 5, sequence: 2 });
  expect((JSON.parse(start?.started ?? "") as OrchestrationStarted).parent).toMatchObject({
    execution: 5,
  });
});

test("generated ids of children differ between executions, so they never collide with a finished instance", async () => {
  const code: Handler<number> = async (ctx, n) => {
    await ctx.call("c", n);
    return ctx.continueAsNew(n + 1);
  };
  const ids = new Set<string>();
  for (let execution = 1; execution <= 12; execution++) {
    const play = await begin(code, { input: execution, execution });
    ids.add(play.last.item.starts[0]?.id ?? "");
    await play.turn(childCompleted(2));
    expect(play.last.ended?.kind).toBe("OrchestrationContinuedAsNew");
  }
  expect(ids.size).toBe(12);
});

test("a redelivered ActivityFailed is ignored, and so is a result after a failure", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a").catch(() => undefined);
    return ctx.run("b");
  });
  await play.turn(failed(2, new Error("x")));
  const turn = await play.turn(failed(2, new Error("x")), completed(2, "late"));
  expect(turn.brief).toEqual([]);
  expect(turn.blocked).toBeNull();
  expect(outputOf(await play.turn(completed(4, "B")))).toBe("B");
});

test("a redelivered ActivityFailed in the same batch is ignored", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a").catch(() => undefined);
    return ctx.run("b");
  });
  const turn = await play.turn(failed(2, new Error("x")), failed(2, new Error("x")));
  expect(turn.brief).toEqual(["ActivityFailed #2", "ActivityScheduled b"]);
});

test("detached starts of a turn that continues as new are executed", async () => {
  const play = await begin(async (ctx) => {
    void ctx.startDetached("d", 1, { id: "d-1" });
    return ctx.continueAsNew(undefined);
  });
  expect(play.last.item.change.kind).toBe("continued");
  expect(play.last.item.dispatched).toMatchObject([
    { item: { kind: "start", id: "d-1", name: "d" } },
  ]);
});

test("cancels of children in a turn that continues as new are sent", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.call("loser"), ctx.sleep(1)]);
    return ctx.continueAsNew(undefined);
  });
  const turn = await play.turn(fired(3));
  expect(turn.item.change.kind).toBe("continued");
  expect(turn.item.sends).toMatchObject([{ to: { id: "i::sub::2" }, kind: "cancel" }]);
});

test("children and activities that are open at continueAsNew are cancelled", async () => {
  const play = await begin(async (ctx) => {
    void ctx.call("child");
    void ctx.run("activity");
    await ctx.sleep(1);
    return ctx.continueAsNew(undefined);
  });
  const turn = await play.turn(fired(4));
  expect(turn.item.sends).toMatchObject([{ to: { id: "i::sub::2" }, kind: "cancel" }]);
  expect(turn.item.cancelledTasks).toEqual([3]);
});

test("a wait cancelled in the turn of continueAsNew consumes no message", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await ctx.race([ctx.waitFor("e"), ctx.sleep(1)]);
    return ctx.continueAsNew(undefined);
  };
  // The message is behind the timer in the batch: it stays in the inbox for the next execution.
  const behind = await begin(code);
  const turn = await behind.turn(fired(3), raised("e", "kept"));
  expect(turn.consumed).toHaveLength(1);
  expect(turn.item.change).toMatchObject({ unread: [] });
});

test("a message that arrives after its wait was cancelled is passed on by continueAsNew", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.waitFor("e"), ctx.sleep(1)]);
    await ctx.waitFor("go");
    return ctx.continueAsNew(undefined);
  });
  const turn = await play.turn(fired(3), raised("e", "kept", "k"), raised("go"));
  expect(turn.item.change).toMatchObject({ unread: [{ name: "e", data: '"kept"', key: "k" }] });
});

test("a wait that is open at continueAsNew is cancelled, and unread messages are passed on", async () => {
  const play = await begin(async (ctx) => {
    void ctx.waitFor("e", { since: "now" });
    await ctx.waitFor("go");
    return ctx.continueAsNew(undefined);
  }, {});
  const turn = await play.turn(raised("x", 1), raised("go"));
  expect(turn.brief).toContain("EventSubscriptionCancelled #2");
  expect(turn.item.change).toMatchObject({ unread: [{ name: "x" }] });
});

test("a join of 1,024 or more tasks completes, in one turn and in many", async () => {
  for (const count of [1_024, 1_500]) {
    const code: Handler<undefined> = async (ctx) => {
      const values = await ctx.all(Array.from({ length: count }, (_, i) => ctx.run("a", i)));
      return values.every((value, index) => value === index);
    };
    const all = Array.from({ length: count }, (_, i) => completed(i + 2, i));
    const once = await begin(code, { checks: "end" });
    expect(outputOf(await once.turn(...all))).toBe(true);
    await once.verify();
    const often = await begin(code, { checks: "end" });
    for (let from = 0; from < count; from += 100) await often.turn(...all.slice(from, from + 100));
    expect(outputOf(often.last)).toBe(true);
    await often.verify();
  }
});

test("a start delivered twice neither replaces the code nor runs it twice", async () => {
  const play = await begin(async (ctx, _input, note) => {
    note("began");
    await ctx.sleep(1);
  });
  const other = JSON.stringify({ kind: "OrchestrationStarted", name: "other", input: "9" });
  const turn = await play.turn({ kind: "start", data: other }, { kind: "start", data: other });
  expect(turn.brief).toEqual([]);
  expect(play.trace).toEqual(["began"]);
});

test("an execution has one terminal event, with any messages in its last turn", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.run("a"), ctx.waitFor("e")]);
    return "end";
  });
  const turn = await play.turn(
    completed(2),
    raised("e"),
    cancel("stop"),
    failed(2, new Error("x")),
  );
  const terminal = turn.brief.filter((text) => /Completed$|Failed$|ContinuedAsNew$/.test(text));
  expect(terminal).toEqual(["OrchestrationFailed"]); // the cancel is delivered first
});

test("a child that fails for any reason sends its parent exactly one message", async () => {
  const parent = { id: "p", runId: "r", execution: 1, sequence: 2 };
  const codes: Handler<undefined>[] = [
    async () => {
      throw new Error("x");
    },
    async () => () => "no value",
    async (ctx) => {
      void ctx.run("a");
      throw new Error("with leftovers");
    },
  ];
  for (const code of codes) {
    const play = await begin(code, { start: { parent } });
    expect(play.last.item.sends).toHaveLength(1);
    expect(play.last.item.sends[0]?.data).toContain('"ChildFailed"');
  }
});

test("a cancelled child sends its parent the outcome cancelled", async () => {
  const parent = { id: "p", runId: "r", execution: 1, sequence: 2 };
  const play = await begin(async (ctx) => ctx.sleep(1), { start: { parent } });
  const turn = await play.turn(cancel("by hand"));
  expect(JSON.parse(turn.item.sends[0]?.data ?? "")).toMatchObject({
    kind: "ChildFailed",
    outcome: "cancelled",
    failure: { message: "cancelled: by hand" },
  });
});

test("the next execution keeps run id and attributes, and its seed is derived from the current seed", async () => {
  const play = await begin(async (ctx) => ctx.continueAsNew(undefined), {
    start: { attributes: { customer: "42" } },
  });
  expect(nextStart(play.last.item)).toMatchObject({
    seed: nextSeed("fedcba9876543210fedcba9876543210"),
    runId: "0123456789abcdef0123456789abcdef",
    attributes: { customer: "42" },
  });
});
