// Schemas of inputs and events: the turn that receives a value checks it and records the verdict. A replay calls no
// schema (received.1). The driver replays every history cold, so each test also compares live turns with replays.

import { expect, test } from "vitest";
import { event, orchestration } from "../../../src/core/define/definitions.ts";
import { projectHistory } from "../../../src/core/history/projection.ts";
import type { EventBody, HistoryEvent } from "../../../src/core/history/events.ts";
import { fromFailure } from "../../../src/core/errors/failure.ts";
import {
  called,
  cancel,
  continued,
  detached,
  encode,
  fired,
  raised,
  received,
  returned,
  started,
  waited,
} from "../bodies.ts";
import { counted, digits, digitsLater, order, refusal, schemaOf } from "../../support/schemas.ts";
import { begin, outputOf, replay, resume, type Handler } from "../support.ts";

const UNCHECKED = { unchecked: true } as const;
const amount = event("amount", digits);

const unreadOf = (history: readonly EventBody[]): readonly EventBody[] =>
  projectHistory(
    history.map((body, index): HistoryEvent => ({
      ...body,
      sequence: index + 1,
      at: 0,
      version: 1,
    })),
  ).unread;

test("the turn that receives an unchecked start records the output of the schema", async () => {
  const play = await begin(async (_ctx, n: unknown) => n, {
    input: "12",
    start: UNCHECKED,
    inputSchema: digits,
  });
  expect(play.history[0]).toEqual(started(12));
  expect(outputOf(play.last)).toBe(12);
});

test("a start without the mark is not checked: an older version wrote the schema's output", async () => {
  const play = await begin(async (_ctx, n: unknown) => n, { input: 12, inputSchema: digits });
  expect(outputOf(play.last)).toBe(12);
});

test("without a schema the mark is removed", async () => {
  const play = await begin(async (_ctx, n: unknown) => n, { input: "x", start: UNCHECKED });
  expect(play.history[0]).toEqual(started("x"));
});

test("a refused input ends the execution without running its code, also in a replay", async () => {
  let runs = 0;
  const play = await begin(
    async () => {
      runs++;
    },
    { input: { items: [{ sku: "a" }, { sku: 1 }] }, start: UNCHECKED, inputSchema: order } as never,
  );
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "OrchestrationFailed"]);
  expect(play.history[0]).toMatchObject({ input: encode({ items: [{ sku: "a" }, { sku: 1 }] }) });
  const ended = play.last.ended;
  const failure = ended?.kind === "OrchestrationFailed" ? ended.failure : undefined;
  expect(failure).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: 'Invalid input of "main": items.1.sku: must be a string.',
    retryable: false,
  });
  expect(failure && fromFailure(failure)).toMatchObject({ path: "$.items[1].sku" });
  expect(runs).toBe(0);
});

test("a refused input and a pending cancel end the execution as failed", async () => {
  const options = { input: "x", start: UNCHECKED, inputSchema: digits };
  const play = await begin(async (_ctx, n: unknown) => n, options, cancel("no longer needed"));
  expect(play.last.brief).toEqual([
    "OrchestrationStarted main",
    "OrchestrationCancelRequested",
    "OrchestrationFailed",
  ]);
});

test("an asynchronous schema cannot check a start: it fails and names the way out", async () => {
  const play = await begin(async (_ctx, n: unknown) => n, {
    input: "12",
    start: UNCHECKED,
    inputSchema: digitsLater,
  });
  expect(play.last.ended).toMatchObject({
    failure: {
      message: expect.stringMatching(/is asynchronous.*client\.start\(definition, input\)/),
    },
  });
});

test("a schema that throws, and an output that cannot be stored, refuse the start", async () => {
  const throwing = schemaOf(() => {
    throw new TypeError("no such table");
  });
  const unstorable = schemaOf(() => ({ value: { at: () => 1 } }));
  const failureOf = async (inputSchema: typeof throwing): Promise<unknown> =>
    (await begin(async () => 1, { start: UNCHECKED, inputSchema })).last.ended;
  expect(await failureOf(throwing)).toMatchObject({
    failure: { message: 'The schema of input of "main" threw an error: no such table' },
  });
  expect(await failureOf(unstorable)).toMatchObject({
    failure: { code: "VALUE_NOT_SERIALIZABLE" },
  });
});

test("continueAsNew starts the next execution unchecked", async () => {
  const play = await begin(async (ctx) => ctx.continueAsNew(undefined));
  const { change } = play.last.item;
  expect(change.kind === "continued" && JSON.parse(change.started)).toMatchObject(UNCHECKED);
});

test("ctx.call and ctx.startDetached check the input and send it as it was given", async () => {
  const child = orchestration("c", async (_ctx, n: number) => n, { input: digits });
  const play = await begin(async (ctx) => {
    void ctx.startDetached(child, "7", { id: "d" });
    await ctx.call(child, "8");
  });
  const { starts, dispatched = [] } = play.last.item;
  const detached = dispatched.flatMap(({ item }) => (item.kind === "start" ? [item] : []));
  expect(
    [...detached, ...starts].map(({ started: text }) => JSON.parse(text) as unknown),
  ).toMatchObject([
    { input: encode("7"), ...UNCHECKED },
    { input: encode("8"), ...UNCHECKED },
  ]);
  const wrong = await begin(async (ctx) => ctx.call(child, "eight"));
  expect(wrong.last.ended).toMatchObject({ failure: { code: "INVALID_ARGUMENT" } });
});

test("a history of an older version, with the output of the schema, replays", async () => {
  const child = orchestration("c", async (_ctx, n: number) => n, {
    input: digits,
    version: "1.0.0",
  });
  const code: Handler<undefined> = async (ctx) => {
    void ctx.startDetached(child, "7", { id: "d" });
    await ctx.call(child, "8");
  };
  const pinned = { orchestrationVersion: "1.0.0" };
  const older = [
    started(),
    { ...detached("c", "d", 7), ...pinned },
    { ...called("c", "i::sub::3", 8), ...pinned },
  ] as EventBody[];
  expect((await replay(code, older)).blocked).toBeNull();
  const other = older.map((body) =>
    body.kind === "ChildScheduled" ? { ...body, input: "9" } : body,
  );
  expect((await replay(code, other)).blocked).toMatchObject({ code: "NONDETERMINISM" });
});

test("an event that arrives for a wait with a schema is received as the output of the schema", async () => {
  const play = await begin(async (ctx, _input, note) => note(await ctx.waitFor(amount)));
  const turn = await play.turn(raised("amount", "12"));
  expect(turn.events[0]).toEqual({ ...received("amount", "12"), output: "12" });
  expect(play.trace).toEqual([12]);
});

test("an output with the text of the data is not recorded twice", async () => {
  const trimmed = event("order", order);
  const play = await begin(async (ctx) => ctx.waitFor(trimmed));
  const turn = await play.turn(raised("order", { items: [{ sku: "a" }] }));
  expect(turn.events[0]).toEqual(received("order", { items: [{ sku: "a" }] }));
});

test("a refused event stays unread with the reason, and the wait goes on", async () => {
  const play = await begin(async (ctx) => ctx.waitFor(amount));
  const turn = await play.turn(raised("amount", "twelve"));
  const message = 'Invalid event "amount": must be digits, got "twelve".';
  expect(turn.brief).toEqual(["EventReceived amount"]);
  expect(turn.unread).toEqual(["twelve"]);
  expect(turn.open).toEqual(["2 event amount"]);
  expect(turn.logs).toEqual([
    `warn event "amount" stays unread, because its schema refused it: ${message}`,
  ]);
  expect(unreadOf(play.history)).toMatchObject([
    { refused: { code: "INVALID_ARGUMENT", message } },
  ]);
  expect(outputOf(await play.turn(raised("amount", "12")))).toBe(12);
  expect(unreadOf(play.history)).toHaveLength(1);
});

test("a wait takes the oldest unread event that its schema accepts", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.sleep(1);
    note(await ctx.waitFor(amount));
    note(await ctx.waitFor(amount));
    note(await ctx.waitFor("amount"));
  });
  await play.turn(raised("amount", "x"), raised("amount", "1"), raised("amount", "2"));
  const turn = await play.turn(fired(2));
  expect(turn.events.filter(({ kind }) => kind === "EventSubscribed")).toMatchObject([
    { taken: 4, output: "1", refused: [{ event: 3, failure: { code: "INVALID_ARGUMENT" } }] },
    { taken: 5, output: "2" },
    { kind: "EventSubscribed", name: "amount" },
  ]);
  expect(play.trace).toEqual([1, 2, "x"]);
  expect(turn.logs).toHaveLength(1);
});

test("a wait that refuses all unread events waits, and the history says so", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return ctx.waitFor(amount);
  });
  await play.turn(raised("amount", "x"));
  const turn = await play.turn(fired(2));
  expect(turn.events[1]).toMatchObject({ taken: 0, refused: [{ event: 3 }] });
  expect(unreadOf(play.history)).toMatchObject([{ refused: { code: "INVALID_ARGUMENT" } }]);
  expect(outputOf(await play.turn(raised("amount", "5")))).toBe(5);
});

test("of several open waits the oldest that accepts the event receives it", async () => {
  const even = event(
    "amount",
    schemaOf<unknown, unknown>((value) =>
      Number(value) % 2 === 0 ? { value: `even ${String(value)}` } : refusal("must be even"),
    ),
  );
  const play = await begin(async (ctx) =>
    ctx.all([ctx.waitFor(amount), ctx.waitFor(even), ctx.waitFor("amount")]),
  );
  const second = await play.turn(raised("amount", 4));
  expect(second.events).toEqual([{ ...received("amount", 4), wait: 3, output: encode("even 4") }]);
  const third = await play.turn(raised("amount", 3));
  expect(third.events).toEqual([{ ...received("amount", 3), wait: 4 }]);
  const refused = await play.turn(raised("amount", 1));
  expect(refused.unread).toEqual([1]);
  expect(outputOf(await play.turn(raised("amount", "9")))).toEqual([9, "even 4", 3]);
});

test("the projection gives each wait the event that the run gave it", async () => {
  const play = await begin(async (ctx) => ctx.all([ctx.waitFor(amount), ctx.waitFor("amount")]));
  await play.turn(raised("amount", "x"));
  await play.turn(raised("amount", "3"));
  const { calls, unread } = projectHistory(
    play.history.map((body, index): HistoryEvent => ({
      ...body,
      sequence: index + 1,
      at: 0,
      version: 1,
    })),
  );
  expect([...calls.values()].map(({ outcome }) => outcome?.output)).toEqual(["3", encode("x")]);
  expect(unread).toEqual([]);
});

test("a replay calls no schema, even if the schema has changed", async () => {
  const count = counted(digits);
  const typed = event("amount", count.schema);
  const code: Handler<undefined> = async (ctx, _input, note) => {
    await ctx.sleep(1);
    note(await ctx.waitFor(typed));
    note(await ctx.waitFor(typed));
  };
  const play = await begin(code, { checks: "end" });
  await play.turn(raised("amount", "x"), raised("amount", "1"));
  await play.turn(fired(2));
  await play.turn(raised("amount", "2"));
  expect(count.calls).toBe(3);
  await play.verify();
  expect(count.calls).toBe(3);
});

test("a live run does not call a schema twice for an event that it has refused", async () => {
  const count = counted(digits);
  const typed = event("amount", count.schema);
  const code: Handler<undefined> = async (ctx, _input, note) => {
    for await (const value of ctx.events(typed)) note(value);
  };
  const play = await begin(code, { checks: "end" });
  await play.turn(raised("amount", "x"));
  for (const text of ["1", "2", "3"]) await play.turn(raised("amount", text));
  expect(count.calls).toBe(4);
  expect(play.trace).toEqual([1, 2, 3]);
  await play.verify();
});

test("after a replay the next wait checks a refused event again, as a deploy may have changed the schema", async () => {
  let accepts = false;
  const typed = event(
    "amount",
    schemaOf<unknown, unknown>((value) =>
      accepts || value === "ok" ? { value } : refusal("not yet"),
    ),
  );
  const code: Handler<undefined> = async (ctx) => [
    await ctx.waitFor(typed),
    await ctx.waitFor(typed),
  ];
  const before = await begin(code, { checks: "end" });
  await before.turn(raised("amount", "x"));
  accepts = true;
  const after = await resume(code, before.history, { checks: "end" });
  expect(outputOf(await after.turn(raised("amount", "ok")))).toEqual(["ok", "x"]);
  await after.verify();
});

test("a wait since now leaves unread events unchecked", async () => {
  const count = counted(digits);
  const typed = event("amount", count.schema);
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return ctx.waitFor(typed, { since: "now" });
  });
  await play.turn(raised("amount", "1"));
  const turn = await play.turn(fired(2));
  expect(turn.events[1]).toEqual(waited("amount", "now"));
  expect(count.calls).toBe(0);
});

test("an event is accepted unchecked if its schema is asynchronous", async () => {
  const play = await begin(async (ctx) => ctx.waitFor(event("amount", digitsLater)));
  expect(outputOf(await play.turn(raised("amount", "x")))).toBe("x");
});

test("continueAsNew puts a refused event back as it was sent", async () => {
  const play = await begin(async (ctx) => {
    await ctx.waitFor(amount);
    return ctx.continueAsNew(undefined);
  });
  await play.turn(raised("amount", "x", "key"));
  const turn = await play.turn(raised("amount", "1"));
  expect(turn.events.at(-1)).toEqual(continued());
  expect(turn.item.change).toMatchObject({
    kind: "continued",
    unread: [{ name: "amount", data: encode("x"), key: "key" }],
  });
  const { change } = turn.item;
  const [kept] = change.kind === "continued" ? change.unread : [];
  expect(Object.keys(kept ?? {}).sort()).toEqual(["data", "key", "name"]);
});

test("a history that names a wait that is not open is corrupt", async () => {
  const turn = await replay(
    async (ctx) => ctx.waitFor("e"),
    [started(), waited("e"), { ...received("e", 1), wait: 9 } as EventBody, returned(1)],
  );
  expect(turn.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
});
