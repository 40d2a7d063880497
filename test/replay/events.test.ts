// Events: a mailbox a name, read in order; waits since now; nothing lost, nothing read twice.

import { expect, test } from "vitest";
import { event } from "../../src/core/definitions.ts";
import { cancel, completed, encode, fired, raised, received, started, waited } from "./bodies.ts";
import { begin, outputOf, replay, type Handler } from "./support.ts";

test("a message that came before the wait is read at once", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return ctx.event("e");
  });
  await play.turn(raised("e", "early"));
  const turn = await play.turn(fired(2));
  expect(turn.brief).toEqual(["TimerFired #2", "EventSubscribed e", "OrchestrationCompleted"]);
  expect(outputOf(turn)).toBe("early");
});

test("a mailbox is read oldest first, whatever was sent when", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return [await ctx.event("e"), await ctx.event("e"), await ctx.event("e")];
  });
  await play.turn(raised("e", 1), raised("e", 2));
  const turn = await play.turn(fired(2));
  expect(turn.open).toEqual(["8 event e"]);
  expect(outputOf(await play.turn(raised("e", 3)))).toEqual([1, 2, 3]);
});

test("each name has a mailbox of its own", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return [await ctx.event("b"), await ctx.event("a")];
  });
  await play.turn(raised("a", "A"), raised("b", "B"));
  expect(outputOf(await play.turn(fired(2)))).toEqual(["B", "A"]);
});

test("several waits of one name are served in the order in which they were made", async () => {
  const play = await begin(async (ctx) => ctx.all([ctx.event("e"), ctx.event("e")]));
  await play.turn(raised("e", "first"));
  expect(outputOf(await play.turn(raised("e", "second")))).toEqual(["first", "second"]);
});

test("a typed event is read like its name", async () => {
  const approval = event<{ by: string }>("approval");
  const play = await begin(async (ctx) => (await ctx.event(approval)).by);
  expect(outputOf(await play.turn(raised("approval", { by: "ada" })))).toBe("ada");
});

test("since now does not see what was taken before", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return ctx.event("e", { since: "now" });
  });
  await play.turn(raised("e", "old"));
  const turn = await play.turn(fired(2));
  expect(turn.open).toEqual(["5 event e"]);
  expect(turn.unread).toEqual(["old"]);
  expect(outputOf(await play.turn(raised("e", "new")))).toBe("new");
});

test("since now sees what is taken after it in the same batch", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return ctx.event("e", { since: "now" });
  });
  expect(outputOf(await play.turn(raised("e", "old"), fired(2), raised("e", "new")))).toBe("new");
});

test("a wait since now leaves the old messages to a wait since ever", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    const now = await ctx.event("e", { since: "now" });
    const ever = await ctx.event("e");
    return { now, ever };
  });
  await play.turn(raised("e", "old"));
  await play.turn(fired(2));
  expect(outputOf(await play.turn(raised("e", "new")))).toEqual({ now: "new", ever: "old" });
});

test("a message goes to the oldest open wait, since now or since ever", async () => {
  const play = await begin(async (ctx) =>
    ctx.all([ctx.event("e", { since: "now" }), ctx.event("e")]),
  );
  expect(outputOf(await play.turn(raised("e", 1), raised("e", 2)))).toEqual([1, 2]);
});

test("a cancelled wait does not consume: the next wait gets the message", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.event("e"), ctx.sleep(1)]);
    return ctx.event("e");
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

test("of two waits one is cancelled: the other gets the next message", async () => {
  const play = await begin(async (ctx) => {
    const [first, second] = [ctx.event("e"), ctx.event("e")];
    first.cancel();
    return second;
  });
  expect(outputOf(await play.turn(raised("e", 1)))).toBe(1);
});

test("a wait cancelled with its instance leaves the message unread", async () => {
  const play = await begin(async (ctx) => {
    await ctx.event("e").catch(() => undefined);
    await ctx.shield(() => ctx.sleep(1));
  });
  await play.turn(cancel("stop"));
  expect((await play.turn(raised("e", "unread"))).unread).toEqual(["unread"]);
});

test("a message that arrives when its wait has just lost is not given to it in replay either", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    const { key } = await ctx.race({ message: ctx.event("e"), late: ctx.sleep(1) });
    note(key);
    note(await ctx.event("e"));
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

test("continueAsNew hands on every unread message, in the order of arrival, with its key", async () => {
  const play = await begin(async (ctx) => {
    await ctx.event("b");
    await ctx.event("go");
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

test("more unread messages than the original would carry are all handed on", async () => {
  const play = await begin(
    async (ctx) => {
      await ctx.event("go");
      return ctx.continueAsNew(undefined);
    },
    { checks: "end" },
  );
  await play.turn(...Array.from({ length: 500 }, (_, i) => raised("e", i)));
  const { change } = (await play.turn(raised("go"))).item;
  expect(change.kind === "continued" && change.unread).toHaveLength(500);
  await play.verify();
});

test("messages that are still in the inbox when continueAsNew ends the execution are not consumed", async () => {
  const play = await begin(async (ctx) => {
    await ctx.event("go");
    return ctx.continueAsNew(undefined);
  });
  const turn = await play.turn(raised("go"), raised("e", "later"));
  expect(turn.consumed).toEqual([2]);
  expect(turn.item.change).toMatchObject({ unread: [] });
});

test("ctx.events gives one message after the other, and a break stops listening", async () => {
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

test("ctx.events leaves what comes after the break unread", async () => {
  const play = await begin(async (ctx) => {
    for await (const _message of ctx.events("e")) break;
    await ctx.sleep(1);
  });
  expect((await play.turn(raised("e", 1), raised("e", 2))).unread).toEqual([2]);
});

test("ctx.events reads what was there before it began", async () => {
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

test("ctx.events may do work between two messages, and misses none", async () => {
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

test("an iterator that is left while it waits cancels its wait", async () => {
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

test("a payload of every kind of value arrives as it was sent", async () => {
  const payload = { when: new Date(7), bytes: new Uint8Array([1, 2]), set: new Set([1n]) };
  const play = await begin(async (ctx) => ctx.event("e"));
  const turn = await play.turn(raised("e", payload));
  expect(outputOf(turn)).toEqual(payload);
  expect(turn.events[0]).toMatchObject({ data: encode(payload) });
});

test("what a wait is for can be seen by those who ask", async () => {
  const play = await begin(async (ctx) => ctx.event("e", { details: { form: 7 } }));
  expect(play.run.open.get(2)).toMatchObject({ kind: "event", details: '{"form":7}' });
});
