// Code whose calls differ from its history is blocked with a message that names both sides. It never diverges silently.

import { expect, test } from "vitest";
import type { EventBody } from "../../../src/core/history/events.ts";
import { sameCommand } from "../../../src/core/history/matching.ts";
import { defaultCodec } from "../../../src/core/values/codec.ts";
import {
  called,
  callCancelled,
  continued,
  detached,
  encode,
  ran,
  ranDone,
  received,
  returned,
  slept,
  sleptCancelled,
  sleptDone,
  started,
  stepped,
  threw,
  waitCancelled,
  waited,
} from "../bodies.ts";
import { replay, type Handler } from "../support.ts";

/** One call of each kind, with the event that it records. */
const CALLS: Readonly<Record<string, { code: Handler<undefined>; recorded: EventBody }>> = {
  activity: { code: async (ctx) => ctx.run("a", 1), recorded: ran("a", 1) },
  step: { code: async (ctx) => ctx.step("a", () => 1), recorded: stepped("a") },
  timer: { code: async (ctx) => ctx.sleep(5), recorded: slept(5) },
  wait: { code: async (ctx) => ctx.waitFor("a"), recorded: waited("a") },
  child: { code: async (ctx) => ctx.call("a", 1), recorded: called("a", "i::sub::2", 1) },
  detached: {
    code: async (ctx) => {
      void ctx.startDetached("a", 1, { id: "a" });
      await ctx.sleep(1);
    },
    recorded: detached("a", "a", 1),
  },
};

for (const [requested, { code }] of Object.entries(CALLS)) {
  for (const [held, { recorded }] of Object.entries(CALLS)) {
    if (held === requested) continue;
    test(`a history with a ${held} where the code requests a ${requested} blocks`, async () => {
      const found = await replay(code, [started(), recorded]);
      expect(found.blocked).toMatchObject({
        code: "NONDETERMINISM",
        sequence: 2,
        recorded: { kind: recorded.kind },
      });
      expect(found.blocked?.requested?.kind).not.toBe(recorded.kind);
      expect(found.blocked?.message).toContain("nondeterministic: event 2 of the history is");
      expect(found.blocked?.message).toContain(recorded.kind);
      expect(found.blocked?.message).toContain(found.blocked?.requested?.kind);
    });
  }
}

async function blockOf(code: Handler<undefined>, ...history: EventBody[]) {
  const found = await replay(code, [started(), ...history]);
  return found.blocked;
}

test("a different activity name blocks, and the message names both", async () => {
  const reason = await blockOf(async (ctx) => ctx.run("new", 1), ran("old", 1));
  expect(reason).toMatchObject({ recorded: { name: "old" }, requested: { name: "new" } });
  expect(reason?.message).toContain('ActivityScheduled "old" with input 1');
  expect(reason?.message).toContain('ActivityScheduled "new" with input 1');
});

test("a different activity input blocks, and the message shows both", async () => {
  const reason = await blockOf(async (ctx) => ctx.run("a", { n: 2 }), ran("a", { n: 1 }));
  expect(reason).toMatchObject({ recorded: { input: '{"n":1}' }, requested: { input: '{"n":2}' } });
});

test("a long input is cut in the message", async () => {
  const reason = await blockOf(async (ctx) => ctx.run("a", "x".repeat(5_000)), ran("a", "y"));
  expect(reason?.message.length).toBeLessThan(1_000);
  expect(reason?.message).toContain("…");
});

test("a recorded session or tags that the code no longer requests block, and the message shows them", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.run("a", 1);
  const session = await blockOf(code, ran("a", 1, { session: "s1" }));
  expect(session).toMatchObject({ code: "NONDETERMINISM" });
  expect(session?.message).toContain("s1");
  const tags = await blockOf(code, ran("a", 1, { tags: ["gpu"] }));
  expect(tags?.message).toContain("gpu");
});

test("session and tags are compared both ways: added, changed, removed", () => {
  const event = (more: object): EventBody => ran("a", 1, more);
  const same = (recorded: object, requested: object): boolean => {
    const command = event(requested);
    return (
      command.kind === "ActivityScheduled" && sameCommand(event(recorded), command, defaultCodec)
    );
  };
  expect(same({ session: "s" }, { session: "s" })).toBe(true);
  expect(same({ session: "s" }, { session: "t" })).toBe(false);
  expect(same({ session: "s" }, {})).toBe(false);
  expect(same({}, { session: "s" })).toBe(false);
  expect(same({ tags: ["a", "b"] }, { tags: ["a", "b"] })).toBe(true);
  expect(same({ tags: ["a"] }, { tags: ["b"] })).toBe(false);
  expect(same({ tags: ["a"] }, { tags: ["a", "b"] })).toBe(false);
  expect(same({ tags: ["a"] }, {})).toBe(false);
  expect(same({}, { tags: ["a"] })).toBe(false);
});

test("a different step name blocks", async () => {
  const reason = await blockOf(async (ctx) => ctx.step("new", () => 1), stepped("old"));
  expect(reason).toMatchObject({ recorded: { name: "old" }, requested: { name: "new" } });
});

test("a different event name, or a different since, blocks", async () => {
  const name = await blockOf(async (ctx) => ctx.waitFor("new"), waited("old"));
  expect(name).toMatchObject({ recorded: { name: "old" }, requested: { name: "new" } });
  const since = await blockOf(async (ctx) => ctx.waitFor("e", { since: "now" }), waited("e"));
  expect(since?.message).toContain('since "now"');
});

test("a different child name or input blocks", async () => {
  const recorded = called("old", "i::sub::2", 1);
  const name = await blockOf(async (ctx) => ctx.call("new", 1), recorded);
  expect(name).toMatchObject({ recorded: { name: "old" }, requested: { name: "new" } });
  const input = await blockOf(async (ctx) => ctx.call("old", 2), recorded);
  expect(input).toMatchObject({ recorded: { input: "1" }, requested: { input: "2" } });
});

test("a different explicit child id blocks, and the message shows both ids", async () => {
  const recorded = { ...called("c", "mine", 1), explicitId: true } as EventBody;
  const reason = await blockOf(async (ctx) => ctx.call("c", 1, { id: "other" }), recorded);
  expect(reason).toMatchObject({ recorded: { id: "mine" }, requested: { id: "other" } });
  expect(reason?.message).toContain('"mine"');
  expect(reason?.message).toContain('"other"');
});

test("adding or removing an explicit child id blocks", async () => {
  const own = called("c", "i::sub::2", 1);
  const given = { ...called("c", "mine", 1), explicitId: true } as EventBody;
  const added = await blockOf(async (ctx) => ctx.call("c", 1, { id: "mine" }), own);
  expect(added?.code).toBe("NONDETERMINISM");
  const removed = await blockOf(async (ctx) => ctx.call("c", 1), given);
  expect(removed?.code).toBe("NONDETERMINISM");
});

test("a different name, id or input of a detached start blocks", async () => {
  const code: Handler<undefined> = async (ctx) => {
    void ctx.startDetached("d", 1, { id: "d-1" });
    await ctx.sleep(1);
  };
  for (const recorded of [
    detached("x", "d-1", 1),
    detached("d", "x", 1),
    detached("d", "d-1", 2),
  ]) {
    expect((await blockOf(code, recorded, slept(1)))?.code).toBe("NONDETERMINISM");
  }
  expect(await blockOf(code, detached("d", "d-1", 1), slept(1))).toBeNull();
});

test("a cancel of a different kind than the recorded cancel blocks", async () => {
  const code: Handler<undefined> = async (ctx) => {
    ctx.waitFor("e").cancel();
    await ctx.sleep(1);
  };
  for (const recorded of [sleptCancelled(2), callCancelled(2)]) {
    expect(await blockOf(code, waited("e"), recorded, slept(1))).toMatchObject({
      recorded: { kind: recorded.kind },
      requested: { kind: "EventSubscriptionCancelled", scheduled: 2 },
    });
  }
  expect(await blockOf(code, waited("e"), waitCancelled(2), slept(1))).toBeNull();
});

test("a recorded command that the code no longer issues blocks", async () => {
  const reason = await blockOf(async (ctx) => ctx.run("a"), ran("a"), ran("b"));
  expect(reason).toMatchObject({ sequence: 3, recorded: { name: "b" }, requested: null });
  expect(reason?.message).toContain("but the code issued no command");
});

test("a foreign await where the history continues blocks with NONDETERMINISM", async () => {
  const reason = await blockOf(async () => new Promise(() => undefined), ran("a"));
  expect(reason).toMatchObject({
    code: "NONDETERMINISM",
    recorded: { name: "a" },
    requested: null,
  });
});

test("a command missing in the middle blocks at its position", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await ctx.run("a");
    await ctx.run("c");
  };
  const reason = await blockOf(code, ran("a"), ranDone(2), ran("b"), ranDone(4), ran("c"));
  expect(reason).toMatchObject({
    sequence: 4,
    recorded: { name: "b" },
    requested: { name: "c" },
  });
});

test("a command that is missing in the history blocks", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.all([ctx.run("a"), ctx.run("b")]);
  const before = await blockOf(code, ran("a"), ranDone(2));
  expect(before).toMatchObject({
    sequence: 3,
    recorded: { kind: "ActivityCompleted", scheduled: 2 },
    requested: { name: "b" },
  });
  const atTheEnd = await blockOf(code, ran("a"));
  expect(atTheEnd).toMatchObject({ sequence: 3, recorded: null, requested: { name: "b" } });
  expect(atTheEnd?.message).toContain("of the history is missing");
});

test("swapped calls block at the first one", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.all([ctx.run("b"), ctx.run("a")]);
  expect(await blockOf(code, ran("a"), ran("b"))).toMatchObject({
    sequence: 2,
    recorded: { name: "a" },
    requested: { name: "b" },
  });
});

test("code that returns where the history continues blocks", async () => {
  const reason = await blockOf(async () => "early", ran("a"));
  expect(reason).toMatchObject({
    sequence: 2,
    recorded: { name: "a" },
    requested: { kind: "OrchestrationCompleted" },
  });
});

test("code that returns where the history has only outcomes blocks", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await Promise.race([ctx.run("a"), ctx.run("b")]);
  };
  const reason = await blockOf(code, ran("a"), ran("b"), ranDone(2), ranDone(3));
  expect(reason).toMatchObject({
    sequence: 5,
    recorded: { kind: "ActivityCompleted" },
    requested: { kind: "ActivityCancelRequested" },
  });
});

test("code that waits where the history ends the instance blocks", async () => {
  for (const end of [returned(1), threw(new Error("x")), continued(1)]) {
    const reason = await blockOf(
      async (ctx) => {
        await ctx.run("a");
        await ctx.sleep(1);
      },
      ran("a"),
      ranDone(2),
      end,
    );
    expect(reason).toMatchObject({
      sequence: 4,
      recorded: { kind: end.kind },
      requested: { kind: "TimerCreated" },
    });
  }
});

test("code that ends with a different outcome than the history blocks", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await ctx.run("a");
    throw new Error("now");
  };
  expect(await blockOf(code, ran("a"), ranDone(2), returned(1))).toMatchObject({
    recorded: { kind: "OrchestrationCompleted" },
    requested: { kind: "OrchestrationFailed" },
  });
});

test("code that ends where the history has no end blocks", async () => {
  expect(await blockOf(async (ctx) => ctx.run("a"), ran("a"), ranDone(2))).toMatchObject({
    sequence: 4,
    recorded: null,
    requested: { kind: "OrchestrationCompleted" },
  });
});

test("a branch that depends on state outside the history blocks at the first difference", async () => {
  let runs = 0;
  const code: Handler<undefined> = async (ctx) => {
    await ctx.run("a");
    await ctx.run(runs++ < 0 ? "never" : "other");
  };
  expect(await blockOf(code, ran("a"), ranDone(2), ran("b"))).toMatchObject({
    sequence: 4,
    requested: { name: "other" },
  });
});

test("only the first difference is reported", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    const first = ctx.run("x");
    const second = ctx.run("y");
    note("still running");
    await Promise.race([first, second]);
    note("never reached");
  };
  const found = await replay(code, [started(), ran("a"), ran("b"), ranDone(2), ranDone(3)]);
  expect(found.blocked).toMatchObject({ sequence: 2, requested: { name: "x" } });
  expect(found.trace).toEqual(["still running"]);
});

test("a blocked run delivers nothing more", async () => {
  const found = await replay(
    async (ctx) => ctx.run("new"),
    [started(), ran("old"), ranDone(2), ran("x")],
  );
  expect(found.run.deliveredSequence).toBe(1);
  expect(found.run.hasMoreHistory).toBe(false);
});

test("timer durations are not compared; the recorded duration counts", async () => {
  const found = await replay(async (ctx) => ctx.sleep("7d"), [started(), slept(5, 1_234)]);
  expect(found.blocked).toBeNull();
  expect(found.run.openTasks.get(2)).toMatchObject({ due: 1_234 });
  const until = await replay(async (ctx) => ctx.sleep(new Date(9e12)), [started(), slept(5)]);
  expect(until.blocked).toBeNull();
});

test("generated child ids are not compared; the recorded id counts", async () => {
  const found = await replay(
    async (ctx) => ctx.call("c", 1),
    [started(), called("c", "made-by-an-older-version", 1)],
  );
  expect(found.blocked).toBeNull();
  expect(found.run.openTasks.get(2)).toMatchObject({ body: { id: "made-by-an-older-version" } });
});

test("a child's version and onParentClose are not compared", async () => {
  const recorded = { ...called("c", "i::sub::2", 1), orchestrationVersion: "1.0.0" } as EventBody;
  const reason = await blockOf(
    async (ctx) => ctx.call("c", 1, { version: "2.0.0", onParentClose: "abandon" }),
    recorded,
  );
  expect(reason).toBeNull();
});

test("retries, timeouts and priority of an activity are not compared; the recorded options count", async () => {
  const retry = { attempts: 9, timeout: "9s", scheduleToClose: "9m", priority: 1 } as const;
  const found = await replay(
    async (ctx) => ctx.run("a", 1, retry),
    [started(), ran("a", 1, { timeoutMs: 5, priority: 4 })],
  );
  expect(found.blocked).toBeNull();
  expect(found.run.openTasks.get(2)).toMatchObject({ body: { timeoutMs: 5, priority: 4 } });
});

test("a step's options and a wait's details are not compared", async () => {
  expect(
    await blockOf(async (ctx) => ctx.step("s", () => 1, { attempts: 5 }), stepped("s")),
  ).toBeNull();
  expect(
    await blockOf(async (ctx) => ctx.waitFor("e", { details: { user: "ada" } }), waited("e")),
  ).toBeNull();
});

test("inputs are compared by encoded value: a different order of keys blocks", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.run("a", { x: 1, y: 2 });
  expect(await blockOf(code, ran("a", { x: 1, y: 2 }))).toBeNull();
  expect((await blockOf(code, ran("a", { y: 2, x: 1 })))?.code).toBe("NONDETERMINISM");
});

test("an error in an input is compared without its stack, because line numbers change with a deploy", async () => {
  const old = new RangeError("too far", { cause: new Error("inner") });
  old.stack = "RangeError: too far\n    at elsewhere (old.js:1:1)";
  const code: Handler<undefined> = async (ctx) =>
    ctx.run("report", { failed: [new RangeError("too far", { cause: new Error("inner") })] });
  expect(await blockOf(code, ran("report", { failed: [old] }))).toBeNull();
  const other = await blockOf(code, ran("report", { failed: [new RangeError("not so far")] }));
  expect(other?.code).toBe("NONDETERMINISM");
});

test("with a codec that encodes a value differently each time, inputs are compared by decoded value", () => {
  let salt = 0;
  const salted = {
    encode: (value: unknown) => `${salt++}|${encode(value)}`,
    decode: (text: string) => defaultCodec.decode(text.slice(text.indexOf("|") + 1)),
  };
  const command = (n: number) => ({
    kind: "ActivityScheduled" as const,
    name: "a",
    input: salted.encode({ n }),
  });
  expect(sameCommand(command(1), command(1), salted)).toBe(true);
  expect(sameCommand(command(1), command(2), salted)).toBe(false);
});

test("in replay the recorded order of two events decides which wait gets which event", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    note([await ctx.waitFor("e"), await ctx.waitFor("e")]);
    await ctx.sleep(1);
  };
  const found = await replay(code, [
    started(),
    waited("e"),
    received("e", "x"),
    waited("e"),
    received("e", "y"),
    slept(1),
  ]);
  expect(found.trace).toEqual([["x", "y"]]);
});

test("with captureSources the block names the source line of the call", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await ctx.run("a");
    await ctx.run("moved"); // the block must name this line
  };
  const history = [started(), ran("a"), ranDone(2), ran("b")];
  const plain = await replay(code, history);
  expect(plain.blocked?.source).toBeUndefined();
  const found = await replay(code, history, { captureSources: true });
  expect(found.blocked?.source).toMatch(/nondeterminism\.test\.ts:\d+:\d+/);
  expect(found.blocked?.message).toContain(`at ${found.blocked?.source}`);
});

test("a recorded TimerFired for an unknown timer blocks", async () => {
  const reason = await blockOf(async (ctx) => ctx.run("a"), ran("a"), sleptDone(9));
  expect(reason).not.toBeNull();
});
