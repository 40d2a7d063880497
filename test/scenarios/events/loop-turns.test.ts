// A batch of CPU-bound work must yield to the event loop between its pieces.

import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import {
  activity,
  event,
  orchestration,
  Perdure,
  type OpenOptions,
  type Provider,
} from "../../../src/index.ts";
import { freshStore } from "../../support/test-store.ts";

const PIECES = 30;
const PIECE_MS = 12;
/** One slice of 20 ms holds two pieces of 12 ms. A third piece may start at the end of the slice. */
const PER_TURN_MAX = 3;

/** Taken before a runtime guards the clock, because the guarded clock stands still in an orchestration. */
const hostNow = performance.now.bind(performance);

let turns = 0;
let counting: NodeJS.Immediate;
beforeEach(() => {
  const count = (): void => {
    turns++;
    counting = setImmediate(count);
  };
  counting = setImmediate(count);
});
afterEach(() => clearImmediate(counting));

/** Counts the computed pieces per turn of the event loop. */
class Pieces {
  readonly #byTurn = new Map<number, number>();

  /** Keeps the processor busy. */
  compute(): void {
    this.#byTurn.set(turns, (this.#byTurn.get(turns) ?? 0) + 1);
    const until = hostNow() + PIECE_MS;
    while (hostNow() < until);
  }

  get total(): number {
    return [...this.#byTurn.values()].reduce((sum, count) => sum + count, 0);
  }
  get mostInOneTurn(): number {
    return Math.max(...this.#byTurn.values());
  }
}

async function open(provider: Provider, options: OpenOptions): Promise<Perdure> {
  const perdure = await Perdure.open(provider, options);
  onTestFinished(() => perdure.close());
  return perdure;
}

function expectTurns(pieces: Pieces, total = PIECES): void {
  expect(pieces.total).toBe(total);
  expect(pieces.mostInOneTurn).toBeLessThanOrEqual(PER_TURN_MAX);
}

test.each([
  { when: "before their first await", isLate: false },
  { when: "after their first await", isLate: true },
])("activities of one turn yield to the event loop when they compute $when", async ({ isLate }) => {
  const pieces = new Pieces();
  const compute = activity("compute", async () => {
    if (isLate) await Promise.resolve();
    pieces.compute();
  });
  const parallel = orchestration("parallel", async (ctx) => {
    await ctx.all(Array.from({ length: PIECES }, () => ctx.run(compute)));
  });
  const perdure = await open(await freshStore(), { register: [parallel, compute] });
  await (await perdure.client.start(parallel)).result();
  expectTurns(pieces);
});

test("activities leased in one batch yield to the event loop", async () => {
  const pieces = new Pieces();
  const compute = activity("compute", () => pieces.compute());
  const parallel = orchestration("parallel", async (ctx) => {
    await ctx.all(Array.from({ length: PIECES }, () => ctx.run(compute)));
  });
  const provider = await freshStore();
  const scheduler = await open(provider, { register: [parallel] });
  const handle = await scheduler.client.start(parallel);
  await expect.poll(() => scheduler.runtime.stats().turns).toBe(1);
  await open(provider, { register: [compute] });
  await handle.result();
  expectTurns(pieces);
});

test("activities of many instances committed together yield to the event loop", async () => {
  const pieces = new Pieces();
  const compute = activity("compute", () => pieces.compute());
  const single = orchestration("single", async (ctx) => ctx.run(compute));
  const perdure = await open(await freshStore(), { register: [single, compute] });
  const starts = Array.from({ length: PIECES }, () => perdure.client.start(single));
  await Promise.all((await Promise.all(starts)).map((handle) => handle.result()));
  expectTurns(pieces);
});

test("steps of one turn yield to the event loop", async () => {
  const pieces = new Pieces();
  const parallel = orchestration("parallel", async (ctx) => {
    const steps = Array.from({ length: PIECES }, (_, i) =>
      ctx.step(`step ${i}`, () => pieces.compute()),
    );
    await ctx.all(steps);
  });
  const perdure = await open(await freshStore(), { register: [parallel] });
  await (await perdure.client.start(parallel)).result();
  expectTurns(pieces);
});

test("the code of many orchestrations yields to the event loop, at start and at replay", async () => {
  const pieces = new Pieces();
  const go = event("go");
  const busy = orchestration("busy", async (ctx) => {
    pieces.compute();
    await ctx.waitFor(go);
  });
  const provider = await freshStore();
  const runtime = { stickyCacheMax: 0 };
  const perdure = await open(provider, { register: [busy], runtime });
  const starts = Array.from({ length: PIECES }, () => perdure.client.start(busy));
  const handles = await Promise.all(starts);
  await expect.poll(() => pieces.total).toBe(PIECES);
  expectTurns(pieces);
  await Promise.all(handles.map((handle) => handle.raise(go)));
  await Promise.all(handles.map((handle) => handle.result()));
  expectTurns(pieces, 2 * PIECES);
});
