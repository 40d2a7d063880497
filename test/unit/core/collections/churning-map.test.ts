// The map and the set for entries that come and go behave like Map and Set, also across replacements.

import fc from "fast-check";
import { expect, test } from "vitest";
import { ChurningMap, ChurningSet } from "../../../../src/core/collections/churning-map.ts";

const key = fc.integer({ min: 0, max: 5 });
const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("set" as const), key, value: fc.nat() }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("delete" as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
);

test("a churning map and set answer every call as Map and Set do", () => {
  fc.assert(
    fc.property(fc.array(operation, { minLength: 100, maxLength: 300 }), (operations) => {
      const churning = new ChurningMap<number, number>();
      const set = new ChurningSet<number>();
      const map = new Map<number, number>();
      for (const call of operations) {
        if (call.kind === "clear") {
          for (const each of [churning, set, map]) each.clear();
        } else if (call.kind === "set") {
          churning.set(call.key, call.value);
          set.add(call.key);
          map.set(call.key, call.value);
        } else {
          const had = map.delete(call.key);
          expect([churning.delete(call.key), set.delete(call.key)]).toEqual([had, had]);
        }
        expect([...churning]).toEqual([...map]);
        expect([...churning.keys()]).toEqual([...set]);
        expect([...churning.values()]).toEqual([...map.values()]);
        expect([churning.size, set.size]).toEqual([map.size, map.size]);
        for (const k of [0, 3, 5]) {
          expect([churning.get(k), churning.has(k), set.has(k)]).toEqual([
            map.get(k),
            map.has(k),
            map.has(k),
          ]);
        }
      }
    }),
  );
});

test("an iteration may delete each entry that it visits", () => {
  const churning = new ChurningMap<number, number>();
  for (let i = 0; i < 100; i++) churning.set(i, i);
  const seen: number[] = [];
  for (const [each] of churning) {
    churning.delete(each);
    seen.push(each);
  }
  expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => i));
  expect(churning.size).toBe(0);
});
