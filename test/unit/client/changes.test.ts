// The timer that covers lost notifications: which watchers it wakes, and how many (changes.1).

import { expect, test } from "vitest";
import { Changes } from "../../../src/client/changes.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";

function setup(watched: number) {
  const environment = new VirtualEnvironment();
  const changes = Changes.of({ environment, subscribe: () => () => undefined });
  const woken: number[] = [];
  const stops = Array.from({ length: watched }, (_, index) =>
    changes.watch(`i${index}`, () => void woken.push(index)),
  );
  return { changes, environment, woken, stops };
}

test("the timer wakes every watcher once per second", async () => {
  const { environment, woken } = setup(3);
  await environment.advance(999);
  expect(woken).toEqual([]);
  await environment.advance(1_001);
  expect(woken).toEqual([0, 1, 2, 0, 1, 2]);
});

test("with many watched instances, the timer wakes a thousand per second, the longest-waiting first", async () => {
  const { environment, woken } = setup(2_500);
  const waves = async (): Promise<readonly number[]> => {
    await environment.advance(1_000);
    return woken.splice(0);
  };
  const [first, second, third] = [await waves(), await waves(), await waves()];
  expect([first.length, first[0], first.at(-1)]).toEqual([1_000, 0, 999]);
  expect([second.length, second[0], second.at(-1)]).toEqual([1_000, 1_000, 1_999]);
  expect([third.length, third[0], third[500]]).toEqual([1_000, 2_000, 0]);
});

test("a watcher that unsubscribes is not woken, and the timer ends with the last one", async () => {
  const { environment, woken, stops } = setup(2);
  stops[0]?.();
  await environment.advance(1_000);
  expect(woken).toEqual([1]);
  stops[1]?.();
  await environment.advance(5_000);
  expect(woken).toEqual([1]);
});
