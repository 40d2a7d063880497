// Values from ctx depend only on the history up to the last delivered event (semantics 8). The driver compares
// everything noted here between the live run, cold turns and replays.

import { expect, test } from "vitest";
import { cancel, completed, fired, raised } from "../bodies.ts";
import { begin, resume, START_AT, type Handler, type Note } from "../support.ts";
import type { OrchestrationContext } from "../../../src/core/context/types.ts";

function noteAll(ctx: OrchestrationContext<undefined>, note: Note): void {
  note({
    now: ctx.now().getTime(),
    uuid: ctx.uuid(),
    random: ctx.random(),
    historyLength: ctx.info.historyLength,
    historyBytes: ctx.info.historyBytes,
    cancelRequested: ctx.info.cancelRequested,
  });
}

test("values from ctx are the same in every replay", async () => {
  const play = await begin(async (ctx, _input, note) => {
    noteAll(ctx, note);
    await ctx.run("a");
    noteAll(ctx, note);
    await ctx.waitFor("e");
    noteAll(ctx, note);
    await ctx.sleep(1).catch(() => undefined);
    noteAll(ctx, note);
    await ctx.shield(() => ctx.run("undo"));
    noteAll(ctx, note);
  });
  await play.turn(completed(2));
  await play.turn(raised("other"), raised("e"));
  await play.turn(cancel("stop"));
  await play.turn(completed(10));
  expect(play.trace).toHaveLength(5);
  expect(play.trace.at(-1)).toMatchObject({ cancelRequested: true });
});

test("ctx.now is the time of the last delivered event while the code runs", async () => {
  const play = await begin(async (ctx, _input, note) => {
    note(ctx.now().getTime());
    for (let i = 0; i < 10; i++) await Promise.resolve();
    note(ctx.now().getTime());
    await ctx.sleep(1);
    note(ctx.now().getTime());
  });
  play.clock = START_AT + 77_000;
  await play.turn(fired(2));
  expect(play.trace).toEqual([START_AT, START_AT, START_AT + 77_000]);
});

test("ctx.now returns a new Date on every call", async () => {
  const play = await begin(async (ctx, _input, note) => {
    ctx.now().setFullYear(1970);
    note(ctx.now().getTime());
  });
  expect(play.trace).toEqual([START_AT]);
});

test("ctx.uuid returns a different valid uuid on every call, and the same uuids in every replay", async () => {
  const play = await begin(async (ctx, _input, note) => {
    note([ctx.uuid(), ctx.uuid()]);
    await ctx.sleep(1);
    note([ctx.uuid(), ctx.uuid()]);
  });
  await play.turn(fired(2));
  const uuids = (play.trace as string[][]).flat();
  expect(new Set(uuids).size).toBe(4);
  for (const uuid of uuids) {
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

test("ctx.random is in [0, 1) and differs from call to call", async () => {
  const play = await begin(async (ctx, _input, note) => {
    for (let i = 0; i < 100; i++) note(ctx.random());
  });
  const numbers = play.trace as number[];
  expect(new Set(numbers).size).toBe(100);
  expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
});

test("random values depend on the seed only, not on the instance or the run id", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => note([ctx.uuid(), ctx.random()]);
  const one = await begin(code);
  const two = await begin(code, { id: "other", start: { runId: "0".repeat(32) } });
  const three = await begin(code, { start: { seed: "1".repeat(32) } });
  expect(two.trace).toEqual(one.trace);
  expect(three.trace).not.toEqual(one.trace);
});

test("random values depend on the last delivered event, not on earlier draws", async () => {
  const draws =
    (before: number): Handler<undefined> =>
    async (ctx, _input, note) => {
      for (let i = 0; i < before; i++) ctx.random();
      await ctx.sleep(1);
      note(ctx.random());
    };
  const few = await begin(draws(1));
  const many = await begin(draws(50));
  await few.turn(fired(2));
  await many.turn(fired(2));
  expect(many.trace).toEqual(few.trace);
});

test("a uuid as an input replays", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a", ctx.uuid());
    await ctx.run("b", { id: ctx.uuid(), at: ctx.now(), roll: ctx.random() });
    await ctx.sleep(1);
  });
  await play.turn(completed(2));
  expect((await play.turn(completed(4))).blocked).toBeNull();
});

test("historyLength counts the events up to the last delivered event", async () => {
  const play = await begin(async (ctx, _input, note) => {
    note(ctx.info.historyLength);
    const tasks = [ctx.run("a"), ctx.run("b")];
    note(ctx.info.historyLength);
    await tasks[0];
    note(ctx.info.historyLength);
    await tasks[1];
    note(ctx.info.historyLength);
  });
  await play.turn(completed(2), completed(3));
  expect(play.trace).toEqual([1, 1, 4, 5]);
});

test("historyBytes counts the rows before the row that is being delivered", async () => {
  const play = await begin(async (ctx, _input, note) => {
    for (let i = 0; i < 3; i++) {
      note(ctx.info.historyBytes);
      await ctx.run("a");
    }
  });
  await play.turn(completed(2));
  await play.turn(completed(4));
  const lengths = play.rows.map(({ data }) => data.length);
  expect(play.trace).toEqual([0, lengths[0], (lengths[0] ?? 0) + (lengths[1] ?? 0)]);
});

test("after a late rejection ctx.random continues with new values, in live runs and replays", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.sleep(1).catch(() => undefined);
    note(ctx.random());
    await ctx.run("refused").catch(() => undefined);
    note(ctx.random());
    await ctx.shield(() => ctx.run("undo"));
  });
  await play.turn(cancel("stop"));
  expect(new Set(play.trace).size).toBe(2);
});

test("two branches that continue after the same event get different random values", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const shared = ctx.run("a");
    const branch = async (name: string): Promise<void> => {
      await shared;
      note([name, ctx.random()]);
    };
    await Promise.all([branch("one"), branch("two")]);
  });
  await play.turn(completed(2));
  const [one, two] = play.trace as [string, number][];
  expect([one?.[0], two?.[0]]).toEqual(["one", "two"]);
  expect(one?.[1]).not.toBe(two?.[1]);
});

test("attributes and parent come from the start event", async () => {
  const parent = { id: "p", runId: "r", execution: 1, sequence: 3 };
  const play = await begin(
    async (ctx, _input, note) => {
      note([ctx.info.attributes, ctx.info.parent]);
      await ctx.sleep(1);
      note([ctx.info.attributes, ctx.info.parent]);
    },
    { start: { parent, attributes: { region: "eu" } } },
  );
  await play.turn(fired(2));
  const seen = [{ region: "eu" }, { id: "p", sequence: 3 }];
  expect(play.trace).toEqual([seen, seen]);
});

test("a replayed run sees the recorded times for the past", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    for (let i = 0; i < 3; i++) {
      note(ctx.now().getTime());
      await ctx.sleep(1);
    }
  };
  const play = await begin(code);
  await play.turn(fired(2));
  const again = await resume(code, play.history);
  again.clock = START_AT + 500_000;
  await again.turn(fired(4));
  expect(again.trace).toEqual([START_AT, START_AT + 1_000, START_AT + 500_000]);
});
