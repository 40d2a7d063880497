import { expect, test } from "vitest";
import type { Environment } from "../core/environment.ts";
import type { HistoryRow } from "../core/history-row.ts";
import type { Run } from "../core/run.ts";
import { VirtualEnvironment } from "../testing/virtual-environment.ts";
import type { HeldInstance } from "./held-instance.ts";
import { Pump } from "./pump.ts";
import { Shadowing, type ShadowReplay } from "./shadowing.ts";

/** Which turns are looked at; the look itself takes `costMs` and finds nothing, the store being away. */
async function looksAt(
  policy: ShadowReplay,
  lengths: readonly number[],
  { costMs = 0, everyMs = 0 } = {},
) {
  let clock = 0;
  const virtual = new VirtualEnvironment();
  const environment: Environment = {
    now: () => clock,
    monotonic: () => clock,
    setTimer: (delayMs, fn) => virtual.setTimer(delayMs, fn),
    immediate: (fn) => virtual.immediate(fn),
    random: () => virtual.random(),
    randomHex: (bytes) => virtual.randomHex(bytes),
  };
  const looked: number[] = [];
  let length = 0;
  const shadowing = new Shadowing({
    policy,
    environment,
    pump: new Pump({ environment, onIdle: () => undefined, entering: () => undefined }),
    runOptions: { codec: { encode: String, decode: (text) => text } },
    readHistory: async (): Promise<readonly HistoryRow[]> => {
      looked.push(length);
      clock += costMs;
      throw new Error("away");
    },
    differs: () => undefined,
  });
  let before = 0;
  for (length of lengths) {
    const run = { lastSequence: length, open: new Map(), mailbox: { unread: () => [] } };
    // Only what is read of it.
    shadowing.committed(
      { key: 1 } as HeldInstance,
      { ...run, ended: null, at: 0 } as unknown as Run,
      {
        execution: 1,
        events: length - before,
      },
    );
    before = length;
    await Promise.resolve();
    clock += everyMs;
  }
  return looked;
}

const upTo = (end: number, step: number): number[] =>
  Array.from({ length: end / step }, (_, index) => (index + 1) * step);

test("auto looks at every turn of the first 200 events, then at every doubling", async () => {
  const looked = await looksAt("auto", upTo(2_000, 20));
  expect(looked).toEqual([...upTo(200, 20), 400, 800, 1_600]);
});

test("auto meets a doubling that a long turn passes over", async () => {
  expect(await looksAt("auto", [150, 390, 395, 790, 900, 7_000, 7_100])).toEqual([
    150, 790, 900, 7_000,
  ]);
});

test("auto spends a burst of 250 ms and then no more than 5 % of the time", async () => {
  const turns = Array.from({ length: 190 }, (_, index) => index + 1);
  const looked = await looksAt("auto", turns, { costMs: 50, everyMs: 100 });
  const elapsed = 190 * 100;
  expect(looked.length * 50).toBeGreaterThan(250);
  expect((looked.length - 1) * 50).toBeLessThanOrEqual(250 + (elapsed + looked.length * 50) * 0.05);
});

test("always looks at every turn, never at none, a sample at its share", async () => {
  const turns = upTo(10_000, 10);
  expect(await looksAt("always", turns)).toEqual(turns);
  expect(await looksAt("never", turns)).toEqual([]);
  expect(await looksAt({ sample: 0 }, turns)).toEqual([]);
  expect(await looksAt({ sample: 1 }, turns)).toEqual(turns);
  const some = await looksAt({ sample: 0.1 }, turns);
  expect(some.length).toBeGreaterThan(50);
  expect(some.length).toBeLessThan(150);
});
