// A framework that calls process.exit at a signal does not cut the shutdown of the runtime off.

import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { holdExit } from "../../../src/adapters/exit-hold.ts";

/** Replaces process.exit by a list of its calls. */
function exits(): unknown[] {
  const { exit } = process;
  const calls: unknown[] = [];
  process.exit = ((code) => void calls.push(code)) as typeof exit;
  onTestFinished(() => void (process.exit = exit));
  return calls;
}

test("an exit waits until it is released, with its code", async () => {
  const calls = exits();
  const hold = holdExit();
  process.exit(143);
  await hold.requested;
  expect(calls).toEqual([]);
  hold.release();
  expect(calls).toEqual([143]);
  process.exit(1);
  expect(calls).toEqual([143, 1]);
});

test("without an exit, a release does not end the process", () => {
  const calls = exits();
  holdExit().release();
  expect(calls).toEqual([]);
});

test("two holds end in any order, and the last one lets the exit through", () => {
  const calls = exits();
  const first = holdExit();
  const second = holdExit();
  process.exit(130);
  first.release();
  expect(calls).toEqual([]);
  second.release();
  expect(calls).toEqual([130]);
});
