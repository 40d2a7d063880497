// The first turn of an execution that begins with a copied past: what is scheduled again, and under which ids and keys
// (replay.fork.1 to replay.fork.3).

import { expect, test } from "vitest";
import type { EventBody } from "../../../src/core/history/events.ts";
import { childOfFork, isForgottenAttempt, keyExecution } from "../../../src/core/replay/fork.ts";
import type { Run } from "../../../src/core/replay/run.ts";
import {
  called,
  completed,
  encode,
  ran,
  ranDone,
  slept,
  started,
  stepped,
  waited,
  wake,
} from "../bodies.ts";
import { outputOf, Play, rowsOf, type Handler, type PlayOptions } from "../support.ts";

type Code = Handler<undefined>;

/** The first turn after the copied history. */
async function firstTurn(
  code: Code,
  copied: readonly EventBody[],
  options: PlayOptions<undefined> = {},
) {
  const all = { copiedUntil: copied.length, checks: "end", id: "fork", ...options } as const;
  const play = new Play(code, all, rowsOf(copied));
  const turn = await play.turn(wake);
  return { play, turn, item: turn.item };
}

const OPEN: readonly EventBody[] = [
  ran("a", 1, { scheduleToCloseMs: 9_000 }),
  ran("done", 2),
  ranDone(3, "x"),
  slept(60_000, 1_060_000),
  called("child", "source::6", 7),
  stepped("s"),
  waited("e"),
];
const code: Code = async (ctx) =>
  ctx.all([
    ctx.run("a", 1, { scheduleToClose: 9_000 }),
    ctx
      .run("done", 2)
      .then(() =>
        ctx.all([
          ctx.sleep(60_000),
          ctx.call("child", 7),
          ctx.step("s", async () => 1),
          ctx.waitFor("e"),
        ]),
      ),
  ]);

test("a fork schedules the open calls again: activities with their deadlines, timers at their times, children with new ids", async () => {
  const { turn, item } = await firstTurn(code, [started(), ...OPEN]);
  expect(turn.blocked).toBeNull();
  expect(turn.brief).toEqual(["PatchMarked"]);
  expect(turn.events).toEqual([{ kind: "PatchMarked", change: "perdure.fork" }]);
  expect(item.tasks.map(({ sequence, name }) => [sequence, name])).toEqual([[2, "a"]]);
  expect(item.timers).toEqual([
    { kind: "deadline", sequence: 2, delayMs: 9_000 },
    { kind: "timer", sequence: 5, dueAt: 1_060_000 },
  ]);
  expect(item.starts.map(({ id, parent }) => [id, parent?.sequence])).toEqual([
    ["fork::sub::6", 6],
  ]);
  expect(turn.open).toHaveLength(5);
});

test("an activity of a fork that completes or is cancelled withdraws its deadline", async () => {
  const options = { scheduleToClose: 9_000 };
  const past = [started(), ran("a", undefined, { scheduleToCloseMs: 9_000 }), ran("b")];
  const both: Code = async (ctx) => {
    const [a, b] = [ctx.run("a", undefined, options), ctx.run("b")];
    const caught = a.catch(() => "cancelled");
    await ctx.any([a, b]);
    a.cancel("enough");
    return [await caught, await b];
  };
  for (const done of [2, 3]) {
    const { play } = await firstTurn(both, past);
    const { item } = await play.turn(completed(done, "x"));
    expect(item.cancelledTimers).toEqual([{ kind: "deadline", sequence: 2 }]);
  }
});

test("an activity without a deadline gets none when it is scheduled again", async () => {
  const { item } = await firstTurn(async (ctx) => ctx.run("a"), [started(), ran("a")]);
  expect([item.tasks.length, item.timers]).toEqual([1, []]);
});

test("calls that the code makes after the copied past are scheduled once", async () => {
  const both: Code = async (ctx) => ctx.all([ctx.run("a"), ctx.run("b"), ctx.sleep(5)]);
  const { play, turn, item } = await firstTurn(both, [started(), ran("a")]);
  expect(turn.brief).toEqual(["ActivityScheduled b", "TimerCreated", "PatchMarked"]);
  expect(item.tasks.map(({ name }) => name).toSorted()).toEqual(["a", "b"]);
  expect(item.timers).toEqual([{ kind: "timer", sequence: 4, delayMs: 5 }]);
  expect((await play.turn(wake)).item.tasks).toEqual([]);
});

test("replay.fork.1: a rewind does not schedule a call whose outcome is on its way", async () => {
  const start = started(undefined, { rewound: { kept: [2, 6] } as never });
  const { turn, item } = await firstTurn(code, [start, ...OPEN]);
  expect(turn.blocked).toBeNull();
  expect([item.tasks, item.starts]).toEqual([[], []]);
  expect(item.timers).toEqual([{ kind: "timer", sequence: 5, dueAt: 1_060_000 }]);
});

test("a copied past is compared by kinds and names only; calls after it are compared as a whole", async () => {
  const past = [started(), ran("a", "old input"), ranDone(2, "x"), ran("b", "old input")];
  const newer: Code = async (ctx) => [await ctx.run("a", "new"), await ctx.run("b", "new")];
  const { play, turn } = await firstTurn(newer, past);
  expect(turn.blocked).toBeNull();
  expect(outputOf(await play.turn(completed(4, "y")))).toEqual(["x", "y"]);
  const partly = await firstTurn(newer, past, { copiedUntil: 3 });
  expect(partly.turn.blocked).toMatchObject({ code: "NONDETERMINISM", sequence: 4 });
});

const runWith = (fields: object): Run =>
  ({ instanceId: "i", execution: 5, options: {}, started: started(), ...fields }) as never;

test("only a child of the copied past gets a new id, and none that still runs", () => {
  const child = {
    kind: "ChildScheduled",
    name: "c",
    id: "old",
    input: "1",
    explicitId: true,
  } as const;
  const rewound = started(undefined, { rewound: { kept: [3] } as never });
  const run = runWith({ options: { copiedUntil: 4 }, started: rewound });
  const { explicitId: _, ...renamed } = child;
  expect(childOfFork(run, 2, child)).toEqual({ ...renamed, id: "i::sub::5_2" });
  expect(childOfFork(run, 4, child)).toMatchObject({ id: "i::sub::5_4" });
  expect(childOfFork(run, 3, child)).toBe(child);
  expect(childOfFork(run, 5, child)).toBe(child);
  expect(childOfFork(runWith({}), 2, child)).toBe(child);
});

test("replay.fork.2: failed attempts of the copied past count after a fork, and not after a rewind", () => {
  const options = { copiedUntil: 4 };
  const rewound = started(undefined, { rewound: {} as never });
  const forgets = (fields: object) => isForgottenAttempt(runWith({ options, ...fields }));
  expect(forgets({ started: rewound, deliveredSequence: 4 })).toBe(true);
  expect(forgets({ started: rewound, deliveredSequence: 5 })).toBe(false);
  expect(forgets({ deliveredSequence: 4 })).toBe(false);
  expect(forgets({ started: rewound, deliveredSequence: 1, options: {} })).toBe(false);
});

test("replay.fork.3: a rewound call keeps the key of the execution that made it; a changed call gets a new one", () => {
  const call = { kind: "ActivityScheduled", name: "a", input: encode(1) } as const;
  const keys = [
    { until: 4, execution: 1 },
    { until: 8, execution: 3 },
  ];
  const redone = { sequence: 9, execution: 3, call };
  const run = runWith({
    codec: { decode: (text: string) => JSON.parse(text) as unknown },
    started: started(undefined, { rewound: { keys, redone } as never }),
  });
  const key = (sequence: number, asked = call) => keyExecution(run, sequence, asked);
  expect([key(2), key(4), key(5), key(8)]).toEqual([1, 1, 3, 3]);
  expect([key(9), key(10)]).toEqual([3, 5]);
  expect(key(9, { ...call, input: encode(2) } as never)).toBe(5);
  const plain = runWith({ started: started() });
  expect(keyExecution(plain, 2, call)).toBe(5);
});
