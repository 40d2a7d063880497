// Custom status, key-values and attributes are commands like any other, in call order. Their values depend on the
// history only (I15).

import { expect, test } from "vitest";
import type { EventBody, OrchestrationStarted } from "../../src/core/history/events.ts";
import { cancel, completed, fired, ran, ranDone, slept, started } from "./bodies.ts";
import { begin, outputOf, replay, resume, START_AT, type Handler } from "./support.ts";

const set = (key: string, value: unknown): EventBody => ({
  kind: "KeyValueSet",
  key,
  value: JSON.stringify(value),
});
const cleared = (key?: string): EventBody => ({
  kind: "KeyValueCleared",
  ...(key === undefined ? {} : { key }),
});
const status = (value: unknown): EventBody => ({
  kind: "StatusSet",
  status: value === null ? null : JSON.stringify(value),
});

async function blockOf(code: Handler<undefined>, ...history: EventBody[]) {
  return (await replay(code, [started(), ...history])).blocked;
}

test("kv.set makes KeyValueSet, kv.delete and kv.clear make KeyValueCleared", async () => {
  const play = await begin(async (ctx) => {
    ctx.kv.set("a", { n: 1 });
    ctx.kv.delete("a");
    ctx.kv.clear();
    await ctx.sleep(1);
  });
  expect(play.last.events.slice(1, 4)).toEqual([
    { kind: "KeyValueSet", key: "a", value: '{"n":1}' },
    { kind: "KeyValueCleared", key: "a" },
    { kind: "KeyValueCleared" },
  ]);
  expect(play.last.item.state?.keyValues).toEqual([
    { key: "a", value: '{"n":1}' },
    { key: "a", value: null },
    { key: null, value: null },
  ]);
});

test("a write is seen by the next read, in the same turn and in later turns", async () => {
  const play = await begin(async (ctx, _input, note) => {
    note(ctx.kv.get("n"));
    ctx.kv.set("n", 1);
    note(ctx.kv.get("n"));
    await ctx.run("a");
    ctx.kv.set("n", ctx.kv.get<number>("n")! + 1);
    note(ctx.kv.get("n"));
    await ctx.run("b");
    note([ctx.kv.get("n"), ctx.kv.size, ctx.kv.entries()]);
  });
  await play.turn(completed(3));
  await play.turn(completed(6));
  expect(play.trace).toEqual([undefined, 1, 2, [2, 1, [["n", 2]]]]);
});

test("a read records no event", async () => {
  const play = await begin(async (ctx) => {
    ctx.kv.get("a");
    void [ctx.kv.entries(), ctx.kv.size, ctx.status, ctx.info.attributes];
    await ctx.sleep(1);
  });
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "TimerCreated"]);
  expect(play.last.item.state).toBeNull();
});

test("a replay rebuilds key-values that were set, overwritten, deleted and cleared", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    ctx.kv.set("a", 1);
    ctx.kv.set("b", 1);
    ctx.kv.set("a", 2);
    await ctx.run("x");
    note(ctx.kv.entries());
    ctx.kv.delete("a");
    note(ctx.kv.entries());
    ctx.kv.clear();
    ctx.kv.set("c", 3);
    await ctx.sleep(1);
    note(ctx.kv.entries());
  };
  const play = await begin(code);
  await play.turn(completed(5));
  const again = await resume(code, play.history);
  await again.turn(fired(10));
  expect(again.trace).toEqual([
    [
      ["a", 2],
      ["b", 1],
    ],
    [["b", 1]],
    [["c", 3]],
  ]);
});

test("entries are sorted by key", async () => {
  const play = await begin(async (ctx) => {
    for (const key of ["b", "a", "c", ""]) ctx.kv.set(key, key);
    return ctx.kv.entries().map(([key]) => key);
  });
  expect(outputOf(play.last)).toEqual(["", "a", "b", "c"]);
});

test("a different key, value or kind of write blocks", async () => {
  const code: Handler<undefined> = async (ctx) => {
    ctx.kv.set("k", 1);
    await ctx.sleep(1);
  };
  expect(await blockOf(code, set("k", 1), slept(1))).toBeNull();
  for (const recorded of [
    set("other", 1),
    set("k", 2),
    cleared("k"),
    cleared(),
    status(1),
    ran("k"),
  ]) {
    expect(await blockOf(code, recorded, slept(1))).toMatchObject({
      code: "NONDETERMINISM",
      sequence: 2,
      requested: { kind: "KeyValueSet", name: "k", input: "1" },
    });
  }
  const reason = await blockOf(code, set("other", 2), slept(1));
  expect(reason?.message).toContain('KeyValueSet "other" with input 2');
  expect(reason?.message).toContain('KeyValueSet "k" with input 1');
});

test("clearing a different key, or one key instead of all, blocks", async () => {
  const one: Handler<undefined> = async (ctx) => {
    ctx.kv.delete("k");
    await ctx.sleep(1);
  };
  const all: Handler<undefined> = async (ctx) => {
    ctx.kv.clear();
    await ctx.sleep(1);
  };
  expect(await blockOf(one, cleared("k"), slept(1))).toBeNull();
  expect(await blockOf(all, cleared(), slept(1))).toBeNull();
  expect((await blockOf(one, cleared("other"), slept(1)))?.code).toBe("NONDETERMINISM");
  expect((await blockOf(one, cleared(), slept(1)))?.code).toBe("NONDETERMINISM");
  expect((await blockOf(all, cleared("k"), slept(1)))?.code).toBe("NONDETERMINISM");
});

test("a recorded write that the code no longer makes blocks, and so does a new write", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.sleep(1);
  expect((await blockOf(code, set("k", 1), slept(1)))?.code).toBe("NONDETERMINISM");
  const writes: Handler<undefined> = async (ctx) => {
    ctx.kv.set("k", 1);
    await ctx.sleep(1);
  };
  expect((await blockOf(writes, slept(1)))?.code).toBe("NONDETERMINISM");
});

test("an error as a value is compared without its stack", async () => {
  const play = await begin(async (ctx) => {
    ctx.kv.set("error", new Error("x"));
    await ctx.run("a");
    await ctx.sleep(1);
  });
  expect((await play.turn(completed(3))).blocked).toBeNull();
});

test("an execution begins with the key-values, status and attributes of its start event", async () => {
  const play = await begin(
    async (ctx, _input, note) => {
      note([ctx.kv.entries(), ctx.status, ctx.info.attributes]);
      ctx.kv.set("a", "new");
      note(ctx.kv.get("a"));
      await ctx.sleep(1);
    },
    {
      start: {
        keyValues: [
          ["a", '"old"', 5],
          ["b", "2", 6],
        ],
        status: '"waiting"',
        attributes: { region: "eu" },
      },
    },
  );
  expect(play.trace).toEqual([
    [
      [
        ["a", "old"],
        ["b", 2],
      ],
      "waiting",
      { region: "eu" },
    ],
    "new",
  ]);
});

test("continueAsNew passes on key-values with their times, the status and the attributes", async () => {
  const play = await begin(async (ctx) => {
    ctx.kv.set("a", 1);
    ctx.setStatus("halfway");
    ctx.setAttributes({ customer: "42", gone: "x" });
    await ctx.sleep(1);
    ctx.kv.set("b", 2);
    ctx.setAttributes({ gone: null });
    return ctx.continueAsNew(undefined);
  });
  const { change } = (await play.turn(fired(5))).item;
  if (change.kind !== "continued") throw new Error("the instance did not continue as new");
  expect(JSON.parse(change.started) as OrchestrationStarted).toMatchObject({
    keyValues: [
      ["a", "1", START_AT],
      ["b", "2", START_AT + 1_000],
    ],
    status: '"halfway"',
    attributes: { customer: "42" },
  });
});

test("pruning by age uses the recorded times, so every replay prunes the same keys", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    ctx.kv.set("old", 1);
    await ctx.sleep(1);
    ctx.kv.set("young", 1);
    await ctx.sleep(1);
    note(ctx.kv.pruneOlderThan(1_500));
    note(ctx.kv.entries());
    await ctx.sleep(1);
  };
  const play = await begin(code);
  await play.turn(fired(3));
  const turn = await play.turn(fired(6));
  expect(play.trace).toEqual([1, [["young", 1]]]);
  expect(turn.brief).toEqual(["TimerFired #6", "KeyValueCleared", "TimerCreated"]);
});

test("overwriting a key resets its age", async () => {
  const play = await begin(async (ctx) => {
    ctx.kv.set("k", 1);
    await ctx.sleep(1);
    ctx.kv.set("k", 2);
    return ctx.kv.pruneOlderThan(500);
  });
  expect(outputOf(await play.turn(fired(3)))).toBe(0);
});

test("too many keys and too large values are refused at the call, and nothing is recorded", async () => {
  const play = await begin(async (ctx, _input, note) => {
    for (let i = 0; i < 150; i++) ctx.kv.set(`k${i}`, i);
    for (const write of [
      () => ctx.kv.set("one more", 1),
      () => ctx.kv.set("k1", "x".repeat(65 * 1_024)),
      () => ctx.setStatus("x".repeat(257 * 1_024)),
    ]) {
      try {
        write();
      } catch (error) {
        note((error as { code: string }).code);
      }
    }
    ctx.kv.set("k1", "overwriting adds no key");
    await ctx.sleep(1);
  });
  expect(play.trace).toEqual(["LIMIT_EXCEEDED", "LIMIT_EXCEEDED", "LIMIT_EXCEEDED"]);
  expect(play.last.events).toHaveLength(153);
});

test("a delete frees capacity for another key", async () => {
  const play = await begin(async (ctx) => {
    for (let i = 0; i < 150; i++) ctx.kv.set(`k${i}`, i);
    ctx.kv.delete("k0");
    ctx.kv.set("another", 1);
    return ctx.kv.size;
  });
  expect(outputOf(play.last)).toBe(150);
});

test("keys named like prototype members are data", async () => {
  const play = await begin(async (ctx) => {
    ctx.kv.set("__proto__", 1);
    ctx.kv.set("constructor", 2);
    return [ctx.kv.get("__proto__"), ctx.kv.get("constructor"), ctx.kv.get("toString")];
  });
  expect(outputOf(play.last)).toEqual([1, 2, undefined]);
});

test("values are copied on write and on read", async () => {
  const play = await begin(async (ctx) => {
    const value = { n: 1 };
    ctx.kv.set("k", value);
    value.n = 2;
    ctx.kv.get<{ n: number }>("k")!.n = 3;
    return ctx.kv.get("k");
  });
  expect(outputOf(play.last)).toEqual({ n: 1 });
});

test("setStatus makes StatusSet; the store shows the last status of a turn", async () => {
  const play = await begin(async (ctx) => {
    ctx.setStatus("one");
    ctx.setStatus({ step: 2 });
    await ctx.sleep(1);
    ctx.setStatus(null);
    return ctx.status;
  });
  expect(play.last.events.slice(1, 3)).toEqual([
    { kind: "StatusSet", status: '"one"' },
    { kind: "StatusSet", status: '{"step":2}' },
  ]);
  expect(play.last.item.state).toMatchObject({ status: { value: '{"step":2}' } });
  const turn = await play.turn(fired(4));
  expect(turn.item.state).toMatchObject({ status: { value: null } });
  expect(outputOf(turn)).toBeUndefined();
});

test("the text of a status is not compared; the recorded text counts", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    ctx.setStatus("new wording");
    note(ctx.status);
    await ctx.sleep(1);
  };
  const found = await replay(code, [started(), status("old wording"), slept(1)]);
  expect(found.blocked).toBeNull();
  expect(found.trace).toEqual(["old wording"]);
});

test("attributes are merged, null removes an attribute, and the recorded attributes count in a replay", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    ctx.setAttributes({ a: "1", b: "2" });
    ctx.setAttributes({ a: null, c: "3" });
    note(ctx.info.attributes);
    await ctx.sleep(1);
  };
  const play = await begin(code);
  expect(play.trace).toEqual([{ b: "2", c: "3" }]);
  expect(play.last.item.state?.attributes).toEqual({ b: "2", c: "3" });
  const found = await replay(code, [
    started(),
    { kind: "AttributesSet", attributes: { a: "1", b: "older" } },
    { kind: "AttributesSet", attributes: { a: null, c: "3" } },
    slept(1),
  ]);
  expect(found.blocked).toBeNull();
  expect(found.trace).toEqual([{ b: "older", c: "3" }]);
});

test("status, key-values and attributes work after a cancel, also outside a shield", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1).catch(() => undefined);
    ctx.setStatus("cancelled");
    ctx.kv.set("k", 1);
    ctx.setAttributes({ done: "yes" });
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "TimerCancelled #2",
    "StatusSet",
    "KeyValueSet",
    "AttributesSet",
    "OrchestrationFailed",
  ]);
});

test("state written in the last turn is committed with the end", async () => {
  const play = await begin(async (ctx) => {
    ctx.kv.set("result", 1);
    ctx.setStatus("done");
    return "end";
  });
  expect(play.last.item.state).toMatchObject({
    status: { value: '"done"' },
    keyValues: [{ key: "result", value: "1" }],
  });
});

test("a replay writes no state again", async () => {
  const code: Handler<undefined> = async (ctx) => {
    ctx.kv.set("a", 1);
    ctx.setStatus("s");
    await ctx.run("x");
    await ctx.sleep(1);
  };
  const play = await resume(code, [started(), set("a", 1), status("s"), ran("x")]);
  expect((await play.turn(completed(4))).item.state).toBeNull();
});

test("state written after a host timer is refused", async () => {
  const seen: string[] = [];
  await begin(
    async (ctx) => {
      void ctx.run("open");
      await new Promise((resolve) => setTimeout(resolve, 1));
      for (const write of [
        () => ctx.kv.set("k", 1),
        () => ctx.kv.delete("k"),
        () => ctx.kv.clear(),
        () => ctx.setStatus(1),
        () => ctx.setAttributes({ a: "1" }),
      ]) {
        try {
          write();
        } catch (error) {
          seen.push((error as { code: string }).code);
        }
      }
    },
    { checks: "end" },
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(seen).toEqual(Array.from({ length: 5 }, () => "FOREIGN_AWAIT"));
});

test("state continues from the replayed history", async () => {
  const code: Handler<undefined> = async (ctx) => {
    ctx.kv.set("n", 1);
    await ctx.run("a");
    ctx.kv.set("n", ctx.kv.get<number>("n")! + 1);
    await ctx.run("b");
    return ctx.kv.get("n");
  };
  const history = [started(), set("n", 1), ran("a"), ranDone(3), set("n", 2), ran("b")];
  const play = await resume(code, history);
  expect(outputOf(await play.turn(completed(6)))).toBe(2);
});
