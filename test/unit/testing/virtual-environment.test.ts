import { describe, expect, test } from "vitest";
import { TIMER_MAX_MS } from "../../../src/core/time/environment.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";

describe("time", () => {
  test("moves only by advance(), and both clocks move together", async () => {
    const environment = new VirtualEnvironment();
    const wall = environment.now();
    const steady = environment.monotonic();
    expect(new Date(wall).getUTCFullYear()).toBe(2026);
    await environment.settle();
    expect(environment.now()).toBe(wall);
    await environment.advance(1_234);
    expect(environment.now() - wall).toBe(1_234);
    expect(environment.monotonic() - steady).toBe(1_234);
  });

  test("begins at startAt", () => {
    expect(new VirtualEnvironment({ startAt: 77 }).now()).toBe(77);
  });

  test("does not go back", async () => {
    await expect(new VirtualEnvironment().advance(-1)).rejects.toThrow(RangeError);
    await expect(new VirtualEnvironment().advance(Number.NaN)).rejects.toThrow(RangeError);
  });

  test("refuses concurrent advance() calls", async () => {
    const environment = new VirtualEnvironment();
    const first = environment.advance(10);
    await expect(environment.advance(10)).rejects.toThrow("a previous call is still running");
    await first;
    await environment.advance(10);
  });

  test("a jump of the wall clock fires no timer and does not change the monotonic clock", async () => {
    const environment = new VirtualEnvironment();
    const wall = environment.now();
    const steady = environment.monotonic();
    let fired = 0;
    environment.setTimer(1_000, () => (fired += 1));
    environment.jumpWallClock(3_600_000);
    await environment.advance(0);
    expect(fired).toBe(0);
    expect(environment.now()).toBe(wall + 3_600_000);
    expect(environment.monotonic()).toBe(steady);
    expect(environment.nextTimerAt()).toBe(wall + 3_601_000);
    environment.jumpWallClock(-7_200_000);
    expect(environment.now()).toBe(wall - 3_600_000);
    await environment.advance(1_000);
    expect(fired).toBe(1);
  });
});

describe("timers", () => {
  test("fire in order of their due time, with the clock set to it", async () => {
    const environment = new VirtualEnvironment();
    const start = environment.now();
    const seen: number[] = [];
    for (const delay of [30, 10, 20, 10, 5]) {
      environment.setTimer(delay, () => seen.push(environment.now() - start));
    }
    await environment.advance(20);
    expect(seen).toEqual([5, 10, 10, 20]);
    expect(environment.nextTimerAt()).toBe(start + 30);
    await environment.advance(10);
    expect(seen).toEqual([5, 10, 10, 20, 30]);
    expect(environment.nextTimerAt()).toBeNull();
  });

  test("with the same due time fire in the order in which they were set", async () => {
    const environment = new VirtualEnvironment();
    const seen: number[] = [];
    for (let i = 0; i < 50; i++) environment.setTimer(7, () => seen.push(i));
    await environment.advance(7);
    expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });

  test("fire in order of their due time among hundreds, also with cancelled timers", async () => {
    const environment = new VirtualEnvironment({ seed: 5 });
    const start = environment.monotonic();
    const wanted: number[] = [];
    const fired: number[] = [];
    const late: (() => void)[] = [];
    for (let i = 0; i < 300; i++) {
      const delay = Math.floor(environment.random() * 1_000);
      const timer = environment.setTimer(delay, () => fired.push(environment.monotonic() - start));
      if (i % 3 === 0) late.push(() => timer.cancel());
      else wanted.push(delay);
    }
    for (const cancel of late) cancel();
    await environment.advance(1_000);
    expect(fired).toEqual(wanted.toSorted((a, b) => a - b));
  });

  test("that are cancelled do not fire", async () => {
    const environment = new VirtualEnvironment();
    let fired = 0;
    const timer = environment.setTimer(5, () => (fired += 1));
    timer.cancel();
    expect(environment.nextTimerAt()).toBeNull();
    await environment.advance(10);
    expect(fired).toBe(0);
  });

  test("set by a timer fire in the same advance if they come due in it", async () => {
    const environment = new VirtualEnvironment();
    const start = environment.now();
    const seen: number[] = [];
    const again = (): void => {
      seen.push(environment.now() - start);
      environment.setTimer(10, again);
    };
    environment.setTimer(10, again);
    await environment.advance(35);
    expect(seen).toEqual([10, 20, 30]);
  });

  test("wait for the microtasks and immediates of the previous timer", async () => {
    const environment = new VirtualEnvironment();
    const seen: string[] = [];
    environment.setTimer(1, () => {
      seen.push("first");
      void Promise.resolve().then(() =>
        environment.immediate(() => {
          seen.push("its immediate");
          environment.immediate(() => seen.push("and the next one"));
        }),
      );
    });
    environment.setTimer(2, () => seen.push("second"));
    await environment.advance(2);
    expect(seen).toEqual(["first", "its immediate", "and the next one", "second"]);
  });

  test("round delays up to whole milliseconds and limit them to the maximum of the host", async () => {
    const environment = new VirtualEnvironment();
    const start = environment.now();
    environment.setTimer(0.25, () => {});
    expect(environment.nextTimerAt()).toBe(start + 1);
    await environment.advance(1);
    environment.setTimer(2 ** 40, () => {});
    expect(environment.nextTimerAt()).toBe(start + 1 + TIMER_MAX_MS);
    expect(() => environment.setTimer(Number.NaN, () => {})).toThrow(RangeError);
  });

  test("with a zero or negative delay fire at the next advance, not at once", async () => {
    const environment = new VirtualEnvironment();
    let fired = 0;
    environment.setTimer(0, () => (fired += 1));
    environment.setTimer(-5, () => (fired += 1));
    expect(fired).toBe(0);
    await environment.advance(0);
    expect(fired).toBe(2);
  });
});

describe("immediates", () => {
  test("run in order, each in its own macrotask, with only microtasks in between", async () => {
    const environment = new VirtualEnvironment();
    const seen: string[] = [];
    for (const name of ["a", "b", "c"]) {
      environment.immediate(() => {
        seen.push(name);
        queueMicrotask(() => seen.push(`${name}'s microtask`));
        setImmediate(() => seen.push(`${name}'s successor`));
      });
    }
    expect(seen).toEqual([]);
    expect(environment.outstandingImmediates).toBe(3);
    await environment.settle();
    expect(environment.outstandingImmediates).toBe(0);
    expect(seen.slice(0, 6)).toEqual([
      "a",
      "a's microtask",
      "b",
      "b's microtask",
      "c",
      "c's microtask",
    ]);
  });

  test("settle waits for a chain of immediates of any length", async () => {
    const environment = new VirtualEnvironment();
    let length = 0;
    const next = (): void => {
      length += 1;
      if (length < 100) environment.immediate(next);
    };
    environment.immediate(next);
    await environment.settle();
    expect(length).toBe(100);
  });
});

describe("randomness", () => {
  test("is determined by the seed", () => {
    const draw = (seed: number): unknown[] => {
      const environment = new VirtualEnvironment({ seed });
      return [environment.random(), environment.randomHex(8), environment.random()];
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  test("is evenly distributed over [0, 1)", () => {
    const environment = new VirtualEnvironment({ seed: 3 });
    const buckets = new Array<number>(10).fill(0);
    for (let i = 0; i < 10_000; i++) {
      const bucket = Math.floor(environment.random() * 10);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    expect(buckets).toHaveLength(10);
    for (const count of buckets) {
      expect(count).toBeGreaterThan(850);
      expect(count).toBeLessThan(1_150);
    }
  });

  test("randomHex returns the requested number of bytes as hexadecimal text", () => {
    const environment = new VirtualEnvironment();
    expect(environment.randomHex(0)).toBe("");
    expect(environment.randomHex(16)).toMatch(/^[0-9a-f]{32}$/);
    expect(environment.randomHex(16)).not.toBe(environment.randomHex(16));
  });
});
