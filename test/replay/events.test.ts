// Events: one mailbox per name, read in order; waits since now; no message is lost or read twice.

import { expect, test } from "vitest";
import { event } from "../../src/core/define/definitions.ts";
import { cancel, completed, encode, fired, raised, received, started, waited } from "./bodies.ts";
import { begin, outputOf, replay, type Handler } from "./support.ts";

test("a message that arrived before the wait is read at once", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return ctx.waitFor("e");
  });
  await play.turn(raised("e", "early"));
  const turn = await play.turn(fired(2));
  expect(turn.brief).toEqual(["TimerFired #2", "EventSubscribed e", "OrchestrationCompleted"]);
  expect(outputOf(turn)).toBe("early");
});

test("a mailbox is read oldest first, before and after the wait begins", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return [await ctx.waitFor("e"), await ctx.waitFor("e"), await ctx.waitFor("e")];
  });
  await play.turn(raised("e", 1), raised("e", 2));
  const turn = await play.turn(fired(2));
  expect(turn.open).toEqual(["8 event e"]);
  expect(outputOf(await play.turn(raised("e", 3)))).toEqual([1, 2, 3]);
});

test("each event name has a separate mailbox", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return [await ctx.waitFor("b"), await ctx.waitFor("a")];
  });
  await play.turn(raised("a", "A"), raised("b", "B"));
  expect(outputOf(await play.turn(fired(2)))).toEqual(["B", "A"]);
});

test("several waits for the same name are served in the order in which they were made", async () => {
  const play = await begin(async (ctx) => ctx.all([ctx.waitFor("e"), ctx.waitFor("e")]));
  await play.turn(raised("e", "first"));
  expect(outputOf(await play.turn(raised("e", "second")))).toEqual(["first", "second"]);
});

test("a typed event is read like its name", async () => {
  const approval = event<{ by: string }>("approval");
  const play = await begin(async (ctx) => (await ctx.waitFor(approval)).by);
  expect(outputOf(await play.turn(raised("approval", { by: "ada" })))).toBe("ada");
});

test("a wait since now does not see messages delivered before it", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return ctx.waitFor("e", { since: "now" });
  });
  await play.turn(raised("e", "old"));
  const turn = await play.turn(fired(2));
  expect(turn.open).toEqual(["5 event e"]);
  expect(turn.unread).toEqual(["old"]);
  expect(outputOf(await play.turn(raised("e", "new")))).toBe("new");
});

test("a wait since now sees messages delivered after it in the same batch", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return ctx.waitFor("e", { since: "now" });
  });
  expect(outputOf(await play.turn(raised("e", "old"), fired(2), raised("e", "new")))).toBe("new");
});

test("a wait since now leaves the old messages to a wait without since", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    const now = await ctx.waitFor("e", { since: "now" });
    const any = await ctx.waitFor("e");
    return { now, any };
  });
  await play.turn(raised("e", "old"));
  await play.turn(fired(2));
  expect(outputOf(await play.turn(raised("e", "new")))).toEqual({ now: "new", any: "old" });
});

test("a message goes to the oldest open wait, with or without since now", async () => {
  const play = await begin(async (ctx) =>
    ctx.all([ctx.waitFor("e", { since: "now" }), ctx.waitFor("e")]),
  );
  expect(outputOf(await play.turn(raised("e", 1), raised("e", 2)))).toEqual([1, 2]);
});

test("a cancelled wait does not consume: the next wait gets the message", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.waitFor("e"), ctx.sleep(1)]);
    return ctx.waitFor("e");
  });
  const turn = await play.turn(fired(3), raised("e", "kept"));
  expect(turn.brief).toEqual([
    "TimerFired #3",
    "EventSubscriptionCancelled #2",
    "EventSubscribed e",
    "EventReceived e",
    "OrchestrationCompleted",
  ]);
  expect(outputOf(turn)).toBe("kept");
});

test("if one of two waits is cancelled, the other gets the next message", async () => {
  const play = await begin(async (ctx) => {
    const [first, second] = [ctx.waitFor("e"), ctx.waitFor("e")];
    first.cancel();
    return second;
  });
  expect(outputOf(await play.turn(raised("e", 1)))).toBe(1);
});

test("a wait cancelled with its instance leaves the message unread", async () => {
  const play = await begin(async (ctx) => {
    await ctx.waitFor("e").catch(() => undefined);
    await ctx.shield(() => ctx.sleep(1));
  });
  await play.turn(cancel("stop"));
  expect((await play.turn(raised("e", "unread"))).unread).toEqual(["unread"]);
});

test("in replay a message after the end of a race goes to the next wait, not to the wait that lost", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    const { key } = await ctx.race({ message: ctx.waitFor("e"), late: ctx.sleep(1) });
    note(key);
    note(await ctx.waitFor("e"));
    await ctx.sleep(1);
  };
  const found = await replay(code, [
    started(),
    waited("e"),
    { kind: "TimerCreated", due: 1, delayMs: 1 },
    { kind: "TimerFired", scheduled: 3 },
    { kind: "EventSubscriptionCancelled", scheduled: 2 },
    waited("e"),
    received("e", "for the second"),
    { kind: "TimerCreated", due: 1, delayMs: 1 },
  ]);
  expect(found.blocked).toBeNull();
  expect(found.trace).toEqual(["late", "for the second"]);
});

test("continueAsNew passes on every unread message, in the order of arrival, with its key", async () => {
  const play = await begin(async (ctx) => {
    await ctx.waitFor("b");
    await ctx.waitFor("go");
    return ctx.continueAsNew(undefined);
  });
  await play.turn(
    raised("a", 1, "k1"),
    raised("b", 2, "k2"),
    raised("b", 3, "k3"),
    raised("c", 4),
    raised("a", 5),
  );
  const turn = await play.turn(raised("go"));
  expect(turn.item.change).toMatchObject({
    kind: "continued",
    unread: [
      { name: "a", data: "1", key: "k1" },
      { name: "b", data: "3", key: "k3" },
      { name: "c", data: "4", key: null },
      { name: "a", data: "5", key: null },
    ],
  });
});

test("continueAsNew passes on 500 unread messages, more than duroxide carries", async () => {
  const play = await begin(
    async (ctx) => {
      await ctx.waitFor("go");
      return ctx.continueAsNew(undefined);
    },
    { checks: "end" },
  );
  await play.turn(...Array.from({ length: 500 }, (_, i) => raised("e", i)));
  const { change } = (await play.turn(raised("go"))).item;
  expect(change.kind === "continued" && change.unread).toHaveLength(500);
  await play.verify();
});

test("messages still in the inbox when continueAsNew ends the execution are not consumed", async () => {
  const play = await begin(async (ctx) => {
    await ctx.waitFor("go");
    return ctx.continueAsNew(undefined);
  });
  const turn = await play.turn(raised("go"), raised("e", "later"));
  expect(turn.consumed).toEqual([2]);
  expect(turn.item.change).toMatchObject({ unread: [] });
});

test("ctx.events yields the messages one by one, and a break stops waiting", async () => {
  const play = await begin(async (ctx) => {
    const seen: unknown[] = [];
    for await (const message of ctx.events("e")) {
      seen.push(message);
      if (message === "last") break;
    }
    await ctx.sleep(1);
    return seen;
  });
  await play.turn(raised("e", 1), raised("e", 2));
  const turn = await play.turn(raised("e", "last"));
  expect(turn.brief).toEqual(["EventReceived e", "TimerCreated"]);
  expect(turn.open).toEqual(["8 timer timer"]);
  expect(outputOf(await play.turn(fired(8)))).toEqual([1, 2, "last"]);
});

test("ctx.events leaves messages after the break unread", async () => {
  const play = await begin(async (ctx) => {
    for await (const _message of ctx.events("e")) break;
    await ctx.sleep(1);
  });
  expect((await play.turn(raised("e", 1), raised("e", 2))).unread).toEqual([2]);
});

test("ctx.events reads messages that arrived before it began", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    const seen: unknown[] = [];
    for await (const message of ctx.events("e")) {
      seen.push(message);
      if (seen.length === 2) return seen;
    }
    return "never";
  });
  await play.turn(raised("e", 1), raised("e", 2));
  expect(outputOf(await play.turn(fired(2)))).toEqual([1, 2]);
});

test("ctx.events misses no message while the loop body does work", async () => {
  const play = await begin(async (ctx) => {
    const seen: unknown[] = [];
    for await (const message of ctx.events("e")) {
      seen.push(await ctx.run("work", message));
      if (seen.length === 2) return seen;
    }
    return "never";
  });
  await play.turn(raised("e", 1), raised("e", 2));
  await play.turn(completed(4, "one"));
  expect(outputOf(await play.turn(completed(8, "two")))).toEqual(["one", "two"]);
});

test("returning from an iterator that waits cancels its wait", async () => {
  const play = await begin(async (ctx) => {
    const messages = ctx.events("e")[Symbol.asyncIterator]();
    const next = messages.next().catch(() => "cancelled");
    await ctx.sleep(1);
    await messages.return?.();
    await ctx.sleep(1);
    return next;
  });
  const turn = await play.turn(fired(3));
  expect(turn.brief).toEqual(["TimerFired #3", "EventSubscriptionCancelled #2", "TimerCreated"]);
  expect(outputOf(await play.turn(fired(6)))).toBe("cancelled");
});

test("a payload of any storable value arrives unchanged", async () => {
  const payload = { when: new Date(7), bytes: new Uint8Array([1, 2]), set: new Set([1n]) };
  const play = await begin(async (ctx) => ctx.waitFor("e"));
  const turn = await play.turn(raised("e", payload));
  expect(outputOf(turn)).toEqual(payload);
  expect(turn.events[0]).toMatchObject({ data: encode(payload) });
});

test("the details of a wait are visible on the open task", async () => {
  const play = await begin(async (ctx) => ctx.waitFor("e", { details: { form: 7 } }));
  expect(play.run.openTasks.get(2)).toMatchObject({ kind: "event", details: '{"form":7}' });
});
