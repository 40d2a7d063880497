import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  TimerWheel,
  type TimerHost,
  type TimerWheelOptions,
} from "../../../../src/core/time/timer-wheel.ts";

/** A host whose clock moves only at wake-ups. It refuses delays that a real host timer would get wrong. */
class FakeHost implements TimerHost {
  time = 0;
  /** By how much this host wakes too early from longer waits. */
  earlyMs = 0;
  readonly requestedDelays: number[] = [];
  readonly armed = new Map<number, { readonly at: number; readonly fn: () => void }>();
  #nextId = 0;

  now(): number {
    return this.time;
  }

  setTimer(delayMs: number, fn: () => void): { cancel(): void } {
    expect(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= 2_147_483_647).toBe(true);
    const id = this.#nextId++;
    this.requestedDelays.push(delayMs);
    const waitMs = delayMs > this.earlyMs ? delayMs - this.earlyMs : delayMs;
    this.armed.set(id, { at: this.time + waitMs, fn });
    expect(this.armed.size, "at most one host timer (timer-wheel.3)").toBe(1);
    return { cancel: () => void this.armed.delete(id) };
  }

  /** Runs wake-ups up to `time`; at most `wakesMax` of them. */
  runTo(time: number, wakesMax = 100_000): void {
    for (let wakes = 0; ; wakes++) {
      const [next] = this.armed;
      if (next === undefined || next[1].at > time) break;
      if (wakes === wakesMax) throw new Error(`more than ${wakesMax} wake-ups`);
      this.armed.delete(next[0]);
      this.time = next[1].at;
      next[1].fn();
    }
    this.time = time;
  }
}

function setup(options?: TimerWheelOptions) {
  const host = new FakeHost();
  const wheel = new TimerWheel(host, options);
  const fired: string[] = [];
  const add = (at: number, name: string) =>
    wheel.schedule(at, () => {
      expect(host.time).toBeGreaterThanOrEqual(at);
      fired.push(`${name}@${host.time}`);
    });
  return { host, wheel, fired, add };
}

describe("deadlines", () => {
  test("callbacks fire at their deadlines, in the order of the deadlines", () => {
    const { host, wheel, fired, add } = setup();
    add(30, "c");
    add(10, "a");
    add(20, "b");
    host.runTo(29);
    expect(fired).toEqual(["a@10", "b@20"]);
    host.runTo(30);
    expect(fired).toEqual(["a@10", "b@20", "c@30"]);
    expect([wheel.size, wheel.held, host.armed.size]).toEqual([0, 0, 0]);
  });

  test("callbacks with the same deadline fire in the order of scheduling, in one wake-up (timer-wheel.2)", () => {
    const { host, fired, add } = setup();
    const names = Array.from({ length: 50 }, (_, i) => `n${i}`);
    for (const name of names) add(10, name);
    host.runTo(10, 1);
    expect(fired).toEqual(names.map((name) => `${name}@10`));
  });

  test("a deadline in the past fires at the next wake-up, not inside schedule", () => {
    const { host, fired, add } = setup();
    host.time = 100;
    add(-5, "past");
    expect(fired).toEqual([]);
    expect(host.requestedDelays).toEqual([0]);
    host.runTo(100);
    expect(fired).toEqual(["past@100"]);
  });

  test("a late wake-up fires all callbacks that are due, in the order of their deadlines", () => {
    const { host, fired, add } = setup();
    add(20, "b");
    add(10, "a");
    const [timer] = host.armed.values();
    host.armed.clear();
    host.time = 500;
    timer?.fn();
    expect(fired).toEqual(["a@500", "b@500"]);
  });

  test("only an earlier deadline arms the host timer again", () => {
    const { host, add } = setup();
    add(100, "a");
    add(200, "b");
    add(100, "c");
    expect(host.requestedDelays).toEqual([100]);
    add(50, "d");
    expect(host.requestedDelays).toEqual([100, 50]);
  });

  test.each([NaN, Infinity, -Infinity])("the deadline %d is refused", (at) => {
    const { wheel } = setup();
    expect(() => wheel.schedule(at, () => {})).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
    expect(wheel.held).toBe(0);
  });
});

describe("limits of the host timer", () => {
  test("10 million milliseconds take one host timer", () => {
    const { host, fired, add } = setup();
    add(10_000_000, "a");
    expect(host.requestedDelays).toEqual([10_000_000]);
    host.runTo(10_000_000, 1);
    expect(fired).toEqual(["a@10000000"]);
  });

  test("2^31 + 5 ms are divided into host timers of one day", () => {
    const { host, fired, add } = setup();
    add(2 ** 31 + 5, "a");
    host.runTo(2 ** 31 + 4);
    expect(fired).toEqual([]);
    expect(Math.max(...host.requestedDelays)).toBe(86_400_000);
    host.runTo(2 ** 31 + 5);
    expect(fired).toEqual([`a@${2 ** 31 + 5}`]);
    expect(host.requestedDelays).toHaveLength(25);
  });

  test("hopMsMax is limited to the longest delay of the host", () => {
    const { host, fired, add } = setup({ hopMsMax: Infinity });
    add(2 ** 31 + 5, "a");
    host.runTo(2 ** 31 + 5, 2);
    expect(host.requestedDelays).toEqual([2_147_483_647, 6]);
    expect(fired).toEqual([`a@${2 ** 31 + 5}`]);
  });

  test("a deadline in a hundred years fires", () => {
    const { host, fired, add } = setup();
    add(36_525 * 86_400_000, "a");
    host.runTo(36_525 * 86_400_000);
    expect(fired).toHaveLength(1);
  });

  test("after an early wake-up the host timer is armed again (timer-wheel.1)", () => {
    const { host, fired, add } = setup();
    host.earlyMs = 1;
    add(10, "a");
    host.runTo(9, 1);
    expect(fired).toEqual([]);
    expect(host.requestedDelays).toEqual([10, 1]);
    host.time = 9.5; // a clock with fractions: half a millisecond is rounded up to one
    const [timer] = host.armed.values();
    host.armed.clear();
    timer?.fn();
    expect(host.requestedDelays).toEqual([10, 1, 1]);
    host.runTo(11);
    expect(fired).toEqual(["a@10.5"]);
  });

  test("a clock that is set back delays a callback and does not lose it", () => {
    const { host, fired, add } = setup();
    host.time = 1_000;
    add(1_010, "a");
    const [timer] = host.armed.values();
    host.armed.clear();
    host.time = 500;
    timer?.fn();
    expect(fired).toEqual([]);
    host.runTo(1_010);
    expect(fired).toEqual(["a@1010"]);
  });
});

describe("cancelling", () => {
  test("a cancelled callback never fires, and cancelling twice or late is harmless", () => {
    const { host, wheel, fired, add } = setup();
    const a = add(10, "a");
    const { cancel } = add(10, "b");
    cancel();
    cancel();
    expect(wheel.size).toBe(1);
    host.runTo(10);
    a.cancel();
    expect(fired).toEqual(["a@10"]);
    expect([wheel.size, wheel.held]).toEqual([0, 0]);
  });

  test("cancelling the last callback cancels the host timer (timer-wheel.3)", () => {
    const { host, add } = setup();
    const a = add(10, "a");
    const b = add(20, "b");
    a.cancel();
    expect(host.armed.size).toBe(1);
    b.cancel();
    expect(host.armed.size).toBe(0);
  });

  test("a callback may cancel itself and a later callback of the same wake-up", () => {
    const { host, wheel, fired, add } = setup();
    const self = wheel.schedule(10, () => {
      self.cancel();
      cancelled.cancel();
      later.cancel();
      fired.push("canceller");
    });
    const cancelled = add(10, "cancelled");
    add(10, "other");
    const later = add(20, "later");
    host.runTo(100);
    expect(fired).toEqual(["canceller", "other@10"]);
    expect([wheel.size, wheel.held, host.armed.size]).toEqual([0, 0, 0]);
  });

  test("cancelling a callback of the current wake-up keeps the count of the other callbacks correct", () => {
    const { host, wheel, fired, add } = setup();
    wheel.schedule(10, () => cancelled.cancel());
    const cancelled = add(10, "cancelled");
    for (let i = 0; i < 5; i++) add(20, `n${i}`);
    host.runTo(10);
    expect([wheel.size, wheel.held]).toEqual([5, 5]);
    host.runTo(20);
    expect(fired).toHaveLength(5);
  });

  test("a million cancelled timeouts do not add to the memory of the pending timeouts (timer-wheel.5)", () => {
    const { host, wheel, add } = setup();
    for (let i = 0; i < 10; i++) add(1_000_000 + i, "live");
    for (let i = 0; i < 1_000_000; i++) {
      wheel.schedule(30_000 + (i % 997), () => {}).cancel();
      if (wheel.held > 21) expect.fail(`${wheel.held} entries for 10 callbacks`);
    }
    expect(wheel.size).toBe(10);
    expect(host.requestedDelays.length).toBeLessThanOrEqual(10);
  });

  test("clear cancels all callbacks, also during a wake-up", () => {
    const { host, wheel, fired, add } = setup();
    wheel.schedule(10, () => {
      wheel.clear();
      add(15, "new");
    });
    add(10, "a");
    const b = add(20, "b");
    host.runTo(100);
    b.cancel();
    expect(fired).toEqual(["new@15"]);
    expect([wheel.size, wheel.held, host.armed.size]).toEqual([0, 0, 0]);
  });
});

describe("callbacks that schedule", () => {
  test("a callback scheduled during a wake-up fires in a later wake-up, by its deadline", () => {
    const { host, wheel, fired, add } = setup();
    wheel.schedule(10, () => {
      add(5, "past");
      add(12, "soon");
      add(10, "now");
    });
    add(10, "a");
    host.runTo(10, 2);
    expect(fired).toEqual(["a@10", "past@10", "now@10"]);
    expect(host.requestedDelays, "armed once per wake-up").toEqual([10, 0, 2]);
    host.runTo(12, 1);
    expect(fired).toEqual(["a@10", "past@10", "now@10", "soon@12"]);
  });

  test("a callback that reschedules itself for now takes one wake-up each time (timer-wheel.6)", () => {
    const { host, wheel } = setup();
    let runs = 0;
    const again = (): void => {
      runs++;
      wheel.schedule(host.now(), again);
    };
    wheel.schedule(10, again);
    expect(() => host.runTo(10, 100)).toThrow("more than 100 wake-ups");
    expect(runs).toBe(100);
  });
});

describe("callbacks that throw", () => {
  const boom = (text: string) => () => {
    throw new Error(text);
  };

  test("the other callbacks run and the host timer is armed again before the wake-up throws (timer-wheel.4)", () => {
    const { host, wheel, fired, add } = setup();
    wheel.schedule(10, boom("boom"));
    add(10, "a");
    add(20, "b");
    expect(() => host.runTo(10)).toThrow("boom");
    expect(fired).toEqual(["a@10"]);
    host.runTo(20);
    expect(fired).toEqual(["a@10", "b@20"]);
  });

  test("several errors are thrown as one AggregateError", () => {
    const { host, wheel } = setup();
    wheel.schedule(10, boom("one"));
    wheel.schedule(10, boom("two"));
    expect(() => host.runTo(10)).toThrow(
      expect.objectContaining({ errors: [new Error("one"), new Error("two")] }),
    );
  });

  test("onError receives the errors, and the wake-up does not throw", () => {
    const errors: unknown[] = [];
    const { host, wheel, fired, add } = setup({ onError: (error) => errors.push(error) });
    wheel.schedule(10, boom("one"));
    wheel.schedule(10, boom("two"));
    add(10, "a");
    host.runTo(10);
    expect(errors).toEqual([new Error("one"), new Error("two")]);
    expect(fired).toEqual(["a@10"]);
  });
});

test("any mix of scheduling, cancelling and waiting keeps timer-wheel.1, timer-wheel.2, timer-wheel.3 and timer-wheel.5", () => {
  type Step = { at: number } | { cancel: number } | { wait: number };
  const step = fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({ at: fc.integer({ min: 0, max: 50 }) }),
    fc.record({ cancel: fc.nat(40) }),
    fc.record({ wait: fc.nat(20) }),
  );
  const run = (steps: readonly Step[], earlyMs: number): void => {
    const { host, wheel, fired, add } = setup({ hopMsMax: 7 });
    const handles: { cancel(): void }[] = [];
    const model: { id: number; at: number; wakeAt: number }[] = [];
    const expected: string[] = [];
    host.earlyMs = earlyMs;
    for (const action of [...steps, { wait: 200 }]) {
      if ("at" in action) {
        const id = handles.length;
        const at = host.time + action.at - 5;
        handles.push(add(at, `n${id}`));
        model.push({ id, at, wakeAt: Math.max(at, host.time) });
      } else if ("cancel" in action) {
        handles[action.cancel]?.cancel();
        const index = model.findIndex((entry) => entry.id === action.cancel);
        if (index >= 0) model.splice(index, 1);
      } else {
        const end = host.time + action.wait;
        host.runTo(end);
        model.sort((a, b) => a.at - b.at || a.id - b.id);
        while (model[0] !== undefined && model[0].at <= end) {
          const entry = model.shift()!;
          expected.push(`n${entry.id}@${entry.wakeAt}`);
        }
        expect(fired).toEqual(expected);
      }
      expect(wheel.size).toBe(model.length);
      expect(wheel.held).toBeLessThanOrEqual(2 * model.length);
      expect(host.armed.size).toBe(model.length > 0 ? 1 : 0);
    }
  };
  fc.assert(fc.property(fc.array(step, { maxLength: 80 }), fc.nat(3), run), { numRuns: 500 });
});
