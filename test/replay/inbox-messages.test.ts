// Messages of the inbox: their order, and those that cannot be read, are late or are for another execution (messages.2,
// semantics 6, I6).

import { expect, test } from "vitest";
import { inInboxOrder } from "../../src/core/replay/inbox-delivery.ts";
import type { Message } from "../../src/core/provider/messages.ts";
import {
  cancel,
  childCompleted,
  completed,
  raised,
  stepDone,
  stepRetryDue,
  steppedDone,
  here,
  stepAttemptFailed,
  type Draft,
} from "./bodies.ts";
import { begin, outputOf } from "./support.ts";

function message(id: number, draft: Partial<Message>): Message {
  const rest = { execution: 1, sequence: null, name: null, key: null, visibleAt: 0 };
  return { id, data: "", ...rest, ...draft } as Message;
}
const idsInOrder = (...messages: readonly Message[]) => inInboxOrder(messages).map(({ id }) => id);

test("messages.2: the start is first, then a pending cancel, then the other messages by time and number", () => {
  const [start, stop, ...others] = [
    message(9, { kind: "start", visibleAt: 50 }),
    message(8, { kind: "cancel", visibleAt: 40 }),
    message(7, { kind: "timer", visibleAt: 10 }),
    message(3, { kind: "activity", visibleAt: 20 }),
    message(4, { kind: "activity", visibleAt: 20 }),
  ] as const;
  const [seven, three, four] = others as [Message, Message, Message];
  expect(idsInOrder(four, stop, three, start, seven)).toEqual([9, 8, 7, 3, 4]);
  expect(idsInOrder(start, seven, stop, three, four)).toEqual([9, 8, 7, 3, 4]);
  expect(idsInOrder(four)).toEqual([4]);
  expect(idsInOrder()).toEqual([]);
});

test("messages.2: events of one name stay in the order in which they were sent, whatever their times", () => {
  const event = (id: number, name: string, visibleAt: number) =>
    message(id, { kind: "event", name, visibleAt });
  const messages = [
    event(1, "a", 30),
    event(2, "a", 10),
    event(3, "b", 25),
    event(4, "a", 20),
    message(0, { kind: "timer", visibleAt: 15, name: "a" }),
    message(6, { kind: "event", visibleAt: 12 }),
  ];
  // By time: 2 (a), 6, 0, 4 (a), 3 (b), 1 (a). The events "a" take their places in the order 1, 2, 4.
  expect(idsInOrder(...messages)).toEqual([1, 6, 0, 2, 3, 4]);
});

test("a list of messages is not changed by ordering it", () => {
  const messages = [message(2, { kind: "wake" }), message(1, { kind: "wake" })];
  inInboxOrder(messages);
  expect(messages.map(({ id }) => id)).toEqual([2, 1]);
});

test("a message that cannot be read blocks the instance and stays in the inbox", async () => {
  const unreadable: readonly string[] = [
    ...["", "{", "null", "7", '"text"', "[]", "{}", '{"kind":7}', '{"kind":null}'],
    ...['{"kind":"FutureThing"}', '{"kind":"OrchestrationStarted"}'],
    JSON.stringify(steppedDone(2)),
  ];
  for (const data of unreadable) {
    const play = await begin(async (ctx) => ctx.run("a"));
    const turn = await play.turn({ kind: "activity", sequence: 2, data });
    expect([data, turn.blocked]).toEqual([
      data,
      {
        code: "HISTORY_CORRUPT",
        message: "Message 2 (activity) in the inbox cannot be read.",
      },
    ]);
    expect([turn.consumed, turn.brief]).toEqual([[], []]);
  }
});

test("a message with a wrong checksum blocks the instance, also if it can be read", async () => {
  const play = await begin(async (ctx) => ctx.run("a"));
  const { blocked } = await play.turn({ ...completed(2, 1), damaged: true });
  expect(blocked).toEqual({
    code: "HISTORY_CORRUPT",
    message:
      "Message 2 (activity) in the inbox is damaged: its checksum does not match its contents.",
  });
});

test("I6: an outcome for a call that is not open, or of another kind, is consumed without an event", async () => {
  const late: readonly Draft[] = [
    completed(9, 1),
    childCompleted(2, 1),
    { kind: "step", sequence: 2, data: JSON.stringify(steppedDone(2)) },
    { kind: "answer", sequence: 2, data: JSON.stringify({ kind: "AskCompleted", scheduled: 2 }) },
    { kind: "timer", sequence: 2, data: "" },
    { kind: "deadline", sequence: 9, data: "" },
    { ...completed(2, 1), sequence: null },
    { ...completed(2, 1), execution: 2 },
    { kind: "cancelTimeout", sequence: null, data: "" },
    stepRetryDue(2),
  ];
  for (const draft of late) {
    const play = await begin(async (ctx) => ctx.run("a"));
    const turn = await play.turn(draft);
    expect([draft, turn.brief, turn.consumed, turn.blocked]).toEqual([draft, [], [2], null]);
    expect(outputOf(await play.turn(completed(2, "value")))).toBe("value");
  }
});

test("I6: the second of two outcomes in one turn has no effect", async () => {
  const play = await begin(async (ctx) => [await ctx.run("a"), await ctx.run("b")]);
  const turn = await play.turn(completed(2, "first"), completed(2, "second"));
  expect(turn.brief).toEqual(["ActivityCompleted #2", "ActivityScheduled b"]);
  expect(outputOf(await play.turn(completed(4, "b")))).toEqual(["first", "b"]);
});

test("a second cancel request has no effect", async () => {
  const play = await begin(async (ctx) => ctx.shield(async () => ctx.run("cleanup")));
  expect((await play.turn(cancel("one"))).brief).toEqual(["OrchestrationCancelRequested"]);
  expect((await play.turn(cancel("two"))).brief).toEqual([]);
  const turn = await play.turn(completed(2));
  expect(turn.ended).toMatchObject({
    outcome: "cancelled",
    failure: { message: "cancelled: one" },
  });
});

test("semantics 18a: without a wait an execution takes 16 events; the others stay in the inbox until it waits", async () => {
  const play = await begin(
    async (ctx) => {
      await ctx.run("a");
      const seen: unknown[] = [];
      for (let i = 0; i < 20; i++) seen.push(await ctx.waitFor("e"));
      return seen;
    },
    { checks: "end" },
  );
  const events = Array.from({ length: 20 }, (_, index) => raised("e", index));
  const turn = await play.turn(...events);
  expect([turn.unread.length, turn.consumed.length]).toEqual([16, 16]);
  expect(turn.item.waitingEvents).toBe("park");
  await play.turn(completed(2));
  const last = await play.turn(...events.slice(16));
  expect(outputOf(last)).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("an event has the key of its sender in the history, and none if it was sent without one", async () => {
  const play = await begin(async (ctx) => [await ctx.waitFor("e"), await ctx.waitFor("e")]);
  const { events } = await play.turn(raised("e", 1, "k"), raised("e", 2));
  expect(events.filter(({ kind }) => kind === "EventReceived")).toEqual([
    { kind: "EventReceived", name: "e", data: "1", key: "k" },
    { kind: "EventReceived", name: "e", data: "2" },
  ]);
});

test("the message for the next attempt of a step makes the step due, unless a later attempt is planned", async () => {
  const due = async (visibleAt: number) => {
    const play = await begin(async (ctx) => ctx.step("s", async () => 1), { checks: "end" });
    await play.turn(here(stepAttemptFailed(2, 1, 5_000)));
    await play.turn({ ...stepRetryDue(2), visibleAt });
    const [step] = [...play.run.openTasks.values()];
    return step?.kind === "step" ? step.dueAt : null;
  };
  expect([await due(4_999), await due(5_000), await due(5_001)]).toEqual([5_000, 0, 0]);
  const play = await begin(async (ctx) => ctx.step("s", async () => 1));
  expect(outputOf(await play.turn(stepDone(2, 7)))).toBe(7);
});
