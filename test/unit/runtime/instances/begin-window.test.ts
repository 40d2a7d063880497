// When new instances stay pending, and when they may begin again (begin-window.1 to begin-window.3).

import { expect, test } from "vitest";
import {
  BeginWindow,
  FIRST_TURNS_MIN,
  HOLD_MS,
} from "../../../../src/runtime/instances/begin-window.ts";

function setup(size: number) {
  let now = 0;
  let opened = 0;
  let key = 0;
  const delays: number[] = [];
  const window = new BeginWindow({
    options: { leaseBatch: size },
    registry: { targetsOf: (name) => [name, `${name}@1.0.0`] },
    monotonic: () => now,
    intake: {
      wakeFor: () => void opened++,
      wakeInstancesIn: (opensInMs) => void delays.push(opensInMs),
    },
  });
  return {
    window,
    delays,
    hold: (name: string, priority = 3) => ({ key: ++key, name, priority }),
    opened: () => opened,
    pass: (ms: number) => void (now += ms),
  };
}

test("BW1: a full window holds back one name and priority", () => {
  const { window, hold } = setup(2);
  window.waits(hold("bulk"), "task");
  expect(window.heldBack()).toEqual([]);
  window.waits(hold("bulk"), "step");
  expect(window.isFull("bulk", 3)).toBe(true);
  expect([window.isFull("bulk", 2), window.isFull("short", 3)]).toEqual([false, false]);
  expect(window.heldBack()).toEqual([
    { target: "bulk", priority: 3 },
    { target: "bulk@1.0.0", priority: 3 },
  ]);
});

test("BW1: instances in their first turn count too", () => {
  const { window, hold, opened } = setup(2);
  const [a, b, c] = [hold("bulk"), hold("bulk"), hold("bulk")];
  for (const held of [a, b, c]) window.begins(held);
  window.waits(a, "task");
  expect(window.isFull("bulk", 3)).toBe(true);
  window.hasBegun(b);
  expect(window.isFull("bulk", 3)).toBe(true);
  window.hasBegun(c);
  expect([window.isFull("bulk", 3), opened()]).toEqual([false, 1]);
});

test("BW1: a small window does not limit first turns while no instance waits for a slot", () => {
  const { window, hold, delays } = setup(2);
  for (let i = 1; i < FIRST_TURNS_MIN; i++) window.begins(hold("bulk"));
  expect(window.isFull("bulk", 3)).toBe(false);
  window.begins(hold("bulk"));
  expect(window.isFull("bulk", 3)).toBe(true);
  expect(delays).toEqual([HOLD_MS]);
});

test("the commit of a later turn does not end the wait for a slot", () => {
  const { window, hold } = setup(1);
  const held = hold("bulk");
  window.waits(held, "task");
  window.hasBegun(held);
  expect(window.isWaiting(held)).toBe(true);
});

test("an instance that waits twice counts once", () => {
  const { window, hold } = setup(2);
  const held = hold("bulk");
  window.begins(held);
  window.waits(held, "task");
  window.waits(held, "task");
  expect(window.isFull("bulk", 3)).toBe(false);
});

test("the window reports once that it has opened, and only if it held instances back", () => {
  const { window, hold, opened } = setup(1);
  const [a, b] = [hold("bulk"), hold("bulk")];
  window.waits(a, "task");
  window.remove(a);
  expect(opened()).toBe(0);
  window.waits(a, "task");
  window.waits(b, "task");
  expect(window.isFull("bulk", 3)).toBe(true);
  window.remove(a);
  expect(opened()).toBe(0);
  window.remove(b);
  window.remove(b);
  expect(opened()).toBe(1);
  expect([window.isWaiting(b), window.isFull("bulk", 3)]).toEqual([false, false]);
});

test("instances of a name that is not held back come and go without a report", () => {
  const { window, hold, opened } = setup(2);
  const other = hold("other");
  window.waits(other, "task");
  for (let i = 0; i < 2; i++) window.waits(hold("bulk"), "task");
  expect(window.isFull("bulk", 3)).toBe(true);
  window.remove(other);
  expect(opened()).toBe(0);
});

test("BW4: taking a task clears its instance and the instances queued before it", () => {
  const { window, hold, opened } = setup(3);
  const [a, b, c] = [hold("bulk"), hold("bulk"), hold("bulk")];
  for (const held of [a, b, c]) window.waits(held, "task");
  expect(window.isFull("bulk", 3)).toBe(true);
  window.taken(b.key);
  expect([a, b, c].map((held) => window.isWaiting(held))).toEqual([false, false, true]);
  expect(opened()).toBe(1);
  window.taken(a.key);
  expect(window.isWaiting(c)).toBe(true);
});

test("BW4: an empty queue clears tasks queued before the request, but no steps", () => {
  const { window, hold, opened, pass } = setup(3);
  const [task, step, later] = [hold("bulk"), hold("bulk"), hold("bulk")];
  window.waits(task, "task");
  window.waits(step, "step");
  pass(1);
  window.waits(later, "task");
  expect(window.isFull("bulk", 3)).toBe(true);
  window.queueWasEmpty(1);
  expect([task, step, later].map((held) => window.isWaiting(held))).toEqual([false, true, true]);
  expect(opened()).toBe(1);
});

test("BW3: an instance stops counting a fixed time after it was last queued", () => {
  const { window, hold, delays, pass } = setup(2);
  const [a, b] = [hold("bulk"), hold("bulk")];
  window.waits(a, "task");
  window.waits(b, "task");
  pass(HOLD_MS - 1);
  window.waits(a, "task");
  expect(window.heldBack()).toHaveLength(2);
  expect(delays).toEqual([1]);
  pass(1);
  expect(window.heldBack()).toEqual([]);
  expect([a, b].map((held) => window.isWaiting(held))).toEqual([true, false]);
});

test("BW3: a first turn that does not end stops counting", () => {
  const { window, hold, pass } = setup(2);
  window.begins(hold("bulk"));
  pass(HOLD_MS);
  window.waits(hold("bulk"), "task");
  expect(window.isFull("bulk", 3)).toBe(false);
});
