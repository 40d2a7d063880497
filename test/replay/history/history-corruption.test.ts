// Corrupt histories are refused with a reason, before they have any effect.

import { expect, test } from "vitest";
import { isPerdureError } from "../../../src/core/errors/errors.ts";
import type { EventBody } from "../../../src/core/history/events.ts";
import {
  decodeHistory,
  decodeRow,
  encodeRow,
  type HistoryRow,
} from "../../../src/core/history/rows.ts";
import { RELEASE } from "../../../src/core/history/release.ts";
import {
  called,
  calledDone,
  cancel,
  cancelRequested,
  continued,
  ran,
  ranDone,
  ranFailed,
  received,
  returned,
  slept,
  sleptDone,
  started,
  stepAttemptFailed,
  stepped,
  steppedDone,
  threw,
  waited,
} from "../bodies.ts";
import { outputOf, replay, resume, rowsOf, type Handler } from "../support.ts";

function refusalOf(...rows: HistoryRow[]): string {
  try {
    decodeHistory(rows);
  } catch (error) {
    if (isPerdureError(error, "HISTORY_CORRUPT")) return error.message;
    throw error;
  }
  return "accepted";
}
const row = (data: string, first = 1, last = 1): HistoryRow => ({ first, last, data });

test("a row that is not JSON, not an object or without events is refused", () => {
  for (const data of [
    "",
    "{",
    "null",
    "7",
    '"x"',
    "[]",
    "{}",
    '{"v":1,"at":0}',
    '{"v":1,"e":[]}',
  ]) {
    expect(refusalOf(row(data))).toContain("cannot be read");
  }
});

test("a row with an unknown kind of event is refused, and the message shows the event", () => {
  const message = refusalOf(row('{"v":1,"at":0,"e":[{"kind":"FutureThing","x":1}]}'));
  expect(message).toContain("unknown event");
  expect(message).toContain("FutureThing");
});

test("an event that is not an object, or has an invalid kind, is refused", () => {
  for (const event of [
    "null",
    "5",
    '"ActivityScheduled"',
    "{}",
    '{"kind":5}',
    '{"kind":"toString"}',
  ]) {
    expect(refusalOf(row(`{"v":1,"at":0,"e":[${event}]}`))).toContain("unknown event");
  }
});

test("a row with a newer replay version is refused, and the message names the version", () => {
  const message = refusalOf(row(encodeRow(0, [started()]).replace('"v":1', '"v":2')));
  expect(message).toContain("replay version 2");
});

test("a row with more or fewer events than its key states is refused", () => {
  expect(refusalOf(row(encodeRow(0, [started(), ran("a")]), 1, 1))).toContain(
    "it contains 2 events",
  );
  expect(refusalOf(row(encodeRow(0, [started()]), 1, 2))).toContain("it contains 1 events");
});

test("a gap between rows, an overlap and rows out of order are refused", () => {
  const first = row(encodeRow(0, [started(), ran("a")]), 1, 2);
  const gap = row(encodeRow(1, [ranDone(2)]), 4, 4);
  const overlap = row(encodeRow(1, [ranDone(2)]), 2, 2);
  expect(refusalOf(first, gap)).toContain("ends at event 2");
  expect(refusalOf(first, overlap)).toContain("ends at event 2");
  expect(refusalOf(row(encodeRow(1, [ranDone(2)]), 3, 3), first)).toContain("are missing");
});

test("a written row decodes to its events, with sequence number, time and version", () => {
  const bodies: EventBody[] = [started("x"), ran("a", { deep: [1] }), waited("e", "now")];
  expect(decodeRow({ first: 5, last: 7, data: encodeRow(99, bodies) })).toEqual(
    bodies.map((body, index) => ({
      ...{ ...body, sequence: 5 + index, at: 99, version: 1, release: RELEASE },
    })),
  );
});

const code: Handler<undefined> = async (ctx) => ctx.run("a");

test("a history without a start is refused", async () => {
  for (const first of [ranDone(2), received("e"), cancelRequested("x"), ran("a"), returned(1)]) {
    const found = await replay(code, [first]);
    expect(found.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
    expect(found.blocked?.message).toContain("OrchestrationStarted");
  }
});

test("a history whose first row is missing is refused", async () => {
  const rows = rowsOf([started(), ran("a"), ranDone(2), returned(1)]).slice(1);
  await expect(replay(code, { rows })).rejects.toMatchObject({ code: "HISTORY_CORRUPT" });
});

test("a start that is not event 1 is refused", async () => {
  const rows = [{ first: 4, last: 5, data: encodeRow(0, [started(), ran("a")]) }];
  await expect(replay(code, { rows })).rejects.toMatchObject({ code: "HISTORY_CORRUPT" });
});

test("a second start is refused, and the code is not run twice", async () => {
  const found = await replay(
    async (ctx, _input, note) => {
      note("run");
      await ctx.run("a");
    },
    [started(), ran("a"), started()],
  );
  expect(found.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
  expect(found.trace).toEqual(["run"]);
});

test("an empty history is a first turn, not a corrupt history", async () => {
  const found = await replay(code, []);
  expect(found.blocked).toBeNull();
  expect(found.run.deliveredSequence).toBe(0);
});

const everything: Handler<undefined> = async (ctx) =>
  ctx.allSettled([ctx.run("a"), ctx.sleep(1), ctx.call("c"), ctx.step("s", () => 1), ctx.sleep(9)]);
const opened = [
  started(),
  ran("a"),
  slept(1),
  called("c", "i::sub::4"),
  stepped("s"),
  slept(9),
] as const;

test("an outcome of an unknown task is refused", async () => {
  for (const orphan of [
    ranDone(99),
    ranFailed(99, new Error("x")),
    sleptDone(99),
    calledDone(99),
    steppedDone(99),
    stepAttemptFailed(99, 1, 0),
  ]) {
    const found = await replay(everything, [...opened, orphan]);
    expect(found.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
    expect(found.blocked?.message).toContain("event 99");
  }
});

test("an outcome of the wrong kind is refused", async () => {
  for (const wrong of [
    ranDone(3),
    ranFailed(4, new Error("x")),
    sleptDone(2),
    calledDone(3),
    steppedDone(2),
    stepAttemptFailed(2, 1, 0),
  ]) {
    const found = await replay(everything, [...opened, wrong]);
    expect(found.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
    expect(found.open).toEqual([
      "2 activity a",
      "3 timer timer",
      "4 child c",
      "5 step s",
      "6 timer timer",
    ]);
  }
});

test("a second outcome of the same task is refused", async () => {
  for (const [once, again] of [
    [ranDone(2), ranDone(2)],
    [ranDone(2), ranFailed(2, new Error("x"))],
    [sleptDone(3), sleptDone(3)],
    [calledDone(4), calledDone(4)],
    [steppedDone(5), stepAttemptFailed(5, 2, 0)],
  ] as const) {
    const found = await replay(everything, [...opened, once, again]);
    expect(found.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
  }
});

test("an outcome before its scheduling event is refused", async () => {
  const found = await replay(code, [started(), ranDone(3), ran("a")]);
  expect(found.blocked).not.toBeNull();
});

test("an outcome of a cancelled task is refused", async () => {
  const cancelling: Handler<undefined> = async (ctx) => {
    ctx.run("a").cancel();
    await ctx.sleep(1);
  };
  const history = [
    started(),
    ran("a"),
    { kind: "ActivityCancelRequested", scheduled: 2, reason: "cancelled" } as const,
    slept(1),
    ranDone(2),
  ];
  expect((await replay(cancelling, history)).blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
});

test("a repeated scheduling event blocks", async () => {
  const found = await replay(code, [started(), ran("a"), ran("a")]);
  expect(found.blocked).toMatchObject({ code: "NONDETERMINISM", sequence: 3 });
});

test("an input, a result or a message that cannot be decoded blocks, and the code does not see it", async () => {
  const reading: Handler<undefined> = async (ctx, _input, note) => {
    note(await ctx.run("a"));
    note(await ctx.waitFor("e"));
  };
  const broken = "~[nonsense";
  for (const history of [
    [{ ...started(), input: broken }],
    [started(), ran("a"), { ...ranDone(2), output: broken }],
    [started(), ran("a"), ranDone(2, 1), waited("e"), { ...received("e"), data: broken }],
  ] as EventBody[][]) {
    const found = await replay(reading, history);
    expect(found.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
    expect(found.trace).not.toContain(broken);
  }
});

test("an unread message that cannot be decoded blocks when it is read, not before", async () => {
  const reading: Handler<undefined> = async (ctx) => {
    await ctx.sleep(1);
    await ctx.waitFor("e");
  };
  const bad = { ...received("e"), data: "~[nonsense" } as EventBody;
  expect((await replay(reading, [started(), slept(1), bad])).run.blocked).toBeNull();
  const read = [started(), slept(1), bad, sleptDone(2), waited("e")];
  expect((await replay(reading, read)).blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
});

test("a failure whose data cannot be decoded blocks", async () => {
  const failure = { ...ranFailed(2, new Error("x")) } as Extract<
    EventBody,
    { kind: "ActivityFailed" }
  >;
  const broken = { ...failure, failure: { ...failure.failure, data: "~[nonsense" } };
  const found = await replay(async (ctx) => ctx.run("a"), [started(), ran("a"), broken]);
  expect(found.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
});

test("an ended history replays to its end and consumes no message", async () => {
  for (const [run, end] of [
    [async () => 1, returned(1)],
    [
      async () => {
        throw new Error("x");
      },
      threw(new Error("x")),
    ],
    [async (ctx) => ctx.continueAsNew(undefined), continued()],
  ] as [Handler<undefined>, EventBody][]) {
    const play = await resume(run, [started(), end]);
    const turn = await play.turn({ kind: "event", name: "e", data: "1", execution: null });
    expect(turn.brief).toEqual([]);
    expect(turn.consumed).toEqual([]);
    expect(turn.ended?.kind).toBe(end.kind);
  }
});

test("events after the end are not read", async () => {
  const found = await replay(async () => 1, [started(), returned(1), received("e"), ran("a")]);
  expect(found.ended?.kind).toBe("OrchestrationCompleted");
  expect(found.blocked).toBeNull();
});

test("unusual texts are plain data: empty, control characters, quotes, prototype names", async () => {
  for (const value of ["", "\u0000\u001f", '"', "\\", "\u2028", "__proto__", "🦊", "~", "~[1]"]) {
    const history = [started(), ran("a", value), ranDone(2, { [value]: value })];
    const play = await resume(
      async (ctx) => {
        const seen = await ctx.run("a", value);
        await ctx.sleep(1);
        return seen;
      },
      [...history, slept(1)],
    );
    const turn = await play.turn({ kind: "timer", sequence: 4, data: "" });
    expect(outputOf(turn)).toEqual(Object.fromEntries([[value, value]]));
  }
});

test("recorded times that go back do not set ctx.now back", async () => {
  const rows = [
    { first: 1, last: 2, data: encodeRow(5_000, [started(), slept(1)]) },
    { first: 3, last: 4, data: encodeRow(3_000, [sleptDone(2), slept(1)]) },
  ];
  const found = await replay(
    async (ctx, _input, note) => {
      await ctx.sleep(1);
      note(ctx.now().getTime());
      await ctx.sleep(1);
    },
    { rows },
  );
  expect(found.trace).toEqual([5_000]);
});

test("a message to an execution without a start blocks it and stays in the inbox", async () => {
  const play = await resume(async () => "never runs", []);
  const turn = await play.turn(cancel("stop"));
  expect(turn.blocked).toMatchObject({
    code: "HISTORY_CORRUPT",
    message: expect.stringContaining("start of this execution is missing"),
  });
  expect(turn.brief).toEqual([]);
});
