import { expect, test } from "vitest";
import type { Environment } from "../../../../src/core/time/environment.ts";
import type { HistoryRow } from "../../../../src/core/history/rows.ts";
import type { Run } from "../../../../src/core/replay/run.ts";
import { VirtualEnvironment } from "../../../../src/testing/virtual-environment.ts";
import type { HeldInstance } from "../../../../src/runtime/instances/held-instance.ts";
import { Pump } from "../../../../src/runtime/replay/pump.ts";
import { Shadowing, type ShadowReplay } from "../../../../src/runtime/replay/shadowing.ts";

/** Which turns are checked by a shadow replay. Each check takes `costMs` and fails, because the store is unavailable. */
async function checkedTurns(
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
  const checked: number[] = [];
  let length = 0;
  const shadowing = new Shadowing({
    options: { shadowReplay: policy },
    environment,
    pump: new Pump({ environment, onIdle: () => undefined, entering: () => undefined }),
    runOptions: { codec: { encode: String, decode: (text) => text } },
    provider: {
      readHistory: async (): Promise<readonly HistoryRow[]> => {
        checked.push(length);
        clock += costMs;
        throw new Error("away");
      },
    },
    instances: { onShadowMismatch: () => undefined },
    leaseCheck: { alert: () => undefined },
  });
  let before = 0;
  for (length of lengths) {
    const run = { lastSequence: length, openTasks: new Map(), mailbox: { unread: () => [] } };
    // Only the fields that Shadowing reads.
    shadowing.committed(
      { key: 1 } as HeldInstance,
      { ...run, ended: null, eventTime: 0 } as unknown as Run,
      {
        execution: 1,
        events: length - before,
      },
    );
    before = length;
    await Promise.resolve();
    clock += everyMs;
  }
  return checked;
}

const upTo = (end: number, step: number): number[] =>
  Array.from({ length: end / step }, (_, index) => (index + 1) * step);

test("auto checks every turn of the first 200 events, then one turn at every doubling of the length", async () => {
  const checked = await checkedTurns("auto", upTo(2_000, 20));
  expect(checked).toEqual([...upTo(200, 20), 400, 800, 1_600]);
});

test("auto checks the next turn when a long turn skips a doubling", async () => {
  expect(await checkedTurns("auto", [150, 390, 395, 790, 900, 7_000, 7_100])).toEqual([
    150, 790, 900, 7_000,
  ]);
});

test("auto spends at most a burst of 250 ms plus 5 % of the time", async () => {
  const turns = Array.from({ length: 190 }, (_, index) => index + 1);
  const checked = await checkedTurns("auto", turns, { costMs: 50, everyMs: 100 });
  const elapsed = 190 * 100;
  expect(checked.length * 50).toBeGreaterThan(250);
  expect((checked.length - 1) * 50).toBeLessThanOrEqual(
    250 + (elapsed + checked.length * 50) * 0.05,
  );
});

test("always checks every turn, never checks none, a sample checks its share", async () => {
  const turns = upTo(10_000, 10);
  expect(await checkedTurns("always", turns)).toEqual(turns);
  expect(await checkedTurns("never", turns)).toEqual([]);
  expect(await checkedTurns({ sample: 0 }, turns)).toEqual([]);
  expect(await checkedTurns({ sample: 1 }, turns)).toEqual(turns);
  const some = await checkedTurns({ sample: 0.1 }, turns);
  expect(some.length).toBeGreaterThan(50);
  expect(some.length).toBeLessThan(150);
});
