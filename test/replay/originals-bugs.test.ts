// Defects of the original that reference/duroxide.md lists in 6.2 and that concern replay: each shown to be absent.

import { expect, test } from "vitest";
import { nextSeed } from "../../src/core/deterministic.ts";
import type { OrchestrationStarted } from "../../src/core/history-events.ts";
import type { TurnItem } from "../../src/core/provider/commit.ts";
import { cancel, childCompleted, completed, failed, fired, raised } from "./bodies.ts";
import { begin, outputOf, type Handler, type Turn } from "./support.ts";

function nextStart(item: TurnItem): OrchestrationStarted {
  if (item.change.kind !== "continued") throw new Error("It has not continued as new.");
  return JSON.parse(item.change.started) as OrchestrationStarted;
}

test("a child that continues as new keeps the link to its parent and tells it only the last result", async () => {
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

test("a child is stamped with the execution of its parent that called it", async () => {
  const play = await begin(async (ctx) => ctx.call("c"), { id: "p", execution: 5 });
  const [start] = play.last.item.starts;
  expect(start?.parent).toMatchObject({ id: "p", execution: 5, sequence: 2 });
  expect((JSON.parse(start?.started ?? "") as OrchestrationStarted).parent).toMatchObject({
    execution: 5,
  });
});

test("auto ids of children differ between executions, so that none meets a finished instance", async () => {
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

test("a redelivered ActivityFailed in the same batch is ignored too", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a").catch(() => undefined);
    return ctx.run("b");
  });
  const turn = await play.turn(failed(2, new Error("x")), failed(2, new Error("x")));
  expect(turn.brief).toEqual(["ActivityFailed #2", "ActivityScheduled b"]);
});

test("detached starts of a turn that continues as new are carried out", async () => {
  const play = await begin(async (ctx) => {
    ctx.startDetached("d", 1, { id: "d-1" });
    return ctx.continueAsNew(undefined);
  });
  expect(play.last.item.change.kind).toBe("continued");
  expect(play.last.item.starts).toMatchObject([{ id: "d-1", name: "d" }]);
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

test("children and activities that are open when an execution continues as new are cancelled", async () => {
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

test("a wait that is dropped in the turn of continueAsNew swallows no message", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await ctx.race([ctx.event("e"), ctx.sleep(1)]);
    return ctx.continueAsNew(undefined);
  };
  // The message is behind the timer in the batch: it stays in the inbox for the next execution.
  const behind = await begin(code);
  const turn = await behind.turn(fired(3), raised("e", "kept"));
  expect(turn.consumed).toHaveLength(1);
  expect(turn.item.change).toMatchObject({ unread: [] });
});

test("a message that arrives after its wait was dropped, before continueAsNew, is handed on", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.event("e"), ctx.sleep(1)]);
    await ctx.event("go");
    return ctx.continueAsNew(undefined);
  });
  const turn = await play.turn(fired(3), raised("e", "kept", "k"), raised("go"));
  expect(turn.item.change).toMatchObject({ unread: [{ name: "e", data: '"kept"', key: "k" }] });
});

test("a wait that is open at continueAsNew is cancelled, and takes nothing that was unread before it", async () => {
  const play = await begin(async (ctx) => {
    void ctx.event("e", { since: "now" });
    await ctx.event("go");
    return ctx.continueAsNew(undefined);
  }, {});
  const turn = await play.turn(raised("x", 1), raised("go"));
  expect(turn.brief).toContain("EventSubscriptionCancelled #2");
  expect(turn.item.change).toMatchObject({ unread: [{ name: "x" }] });
});

test("a join of 1,024 and more completes, in one turn and in many", async () => {
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

test("a start that is delivered twice does not swap the code or run it twice", async () => {
  const play = await begin(async (ctx, _input, note) => {
    note("began");
    await ctx.sleep(1);
  });
  const other = JSON.stringify({ kind: "OrchestrationStarted", name: "other", input: "9" });
  const turn = await play.turn({ kind: "start", data: other }, { kind: "start", data: other });
  expect(turn.brief).toEqual([]);
  expect(play.trace).toEqual(["began"]);
});

test("an execution has one terminal event, whatever comes in its last turn", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.run("a"), ctx.event("e")]);
    return "end";
  });
  const turn = await play.turn(
    completed(2),
    raised("e"),
    cancel("stop"),
    failed(2, new Error("x")),
  );
  const terminal = turn.brief.filter((text) => /Completed$|Failed$|ContinuedAsNew$/.test(text));
  expect(terminal).toEqual(["OrchestrationFailed"]); // by the cancel, which is delivered first
});

test("a child that fails for whatever reason tells its parent exactly once", async () => {
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

test("a child that is cancelled tells its parent so", async () => {
  const parent = { id: "p", runId: "r", execution: 1, sequence: 2 };
  const play = await begin(async (ctx) => ctx.sleep(1), { start: { parent } });
  const turn = await play.turn(cancel("by hand"));
  expect(JSON.parse(turn.item.sends[0]?.data ?? "")).toMatchObject({
    kind: "ChildFailed",
    outcome: "cancelled",
    failure: { message: "canceled: by hand" },
  });
});

test("run id and attributes are carried to the next execution, whose seed follows from this one's", async () => {
  const play = await begin(async (ctx) => ctx.continueAsNew(undefined), {
    start: { attributes: { customer: "42" } },
  });
  expect(nextStart(play.last.item)).toMatchObject({
    seed: nextSeed("fedcba9876543210fedcba9876543210"),
    runId: "0123456789abcdef0123456789abcdef",
    attributes: { customer: "42" },
  });
});
