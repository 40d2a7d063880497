// The map for few entries behaves like a Map, also when it grows from one entry to two.

import fc from "fast-check";
import { expect, test } from "vitest";
import { LazyMap } from "../../../../src/core/collections/lazy-map.ts";
import { OpenTasks, type OpenTask } from "../../../../src/core/replay/open-task.ts";

const key = fc.integer({ min: 0, max: 3 });
const operation = fc.oneof(
  fc.record({ kind: fc.constant("set" as const), key, value: fc.integer() }),
  fc.record({ kind: fc.constant("delete" as const), key }),
  fc.record({ kind: fc.constant("clear" as const) }),
);

test("a lazy map answers every call as a Map does", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 20 }), (operations) => {
      const lazy = new LazyMap<number, number>();
      const map = new Map<number, number>();
      for (const call of operations) {
        if (call.kind === "clear") {
          lazy.clear();
          map.clear();
        } else if (call.kind === "set") {
          lazy.set(call.key, call.value);
          map.set(call.key, call.value);
        } else expect(lazy.delete(call.key)).toBe(map.delete(call.key));
        expect([...lazy.entries()]).toEqual([...map.entries()]);
        expect([...lazy.values()]).toEqual([...map.values()]);
        expect(lazy.size).toBe(map.size);
        for (const k of [0, 1, 2, 3]) {
          expect([lazy.get(k), lazy.has(k)]).toEqual([map.get(k), map.has(k)]);
        }
      }
    }),
  );
});

test("open tasks know whether a step is among them", () => {
  const tasks = new OpenTasks();
  const task = (sequence: number, kind: string): OpenTask => ({ sequence, kind }) as OpenTask;
  tasks.add(task(1, "activity"));
  expect(tasks.hasSteps).toBe(false);
  tasks.add(task(2, "step"));
  tasks.add(task(3, "step"));
  expect(tasks.delete(2)).toBe(true);
  expect(tasks.hasSteps).toBe(true);
  expect(tasks.delete(2)).toBe(false);
  expect(tasks.delete(3)).toBe(true);
  expect(tasks.hasSteps).toBe(false);
});
