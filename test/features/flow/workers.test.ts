// Execution of the steps of a flow: on any worker that registers the flow, with their options, with exact values.

import { expect } from "vitest";
import { flow } from "../../../src/flow/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";

scenario("branches run in parallel on all available workers (T2)", (t) => {
  const workers = new Map<string, string>();
  const busy: { now: number; most: number } = { now: 0, most: 0 };
  const wide = flow<number>("wide")
    .map(
      "m",
      (n) => Array.from({ length: n }, (_, index) => index),
      (f) =>
        f.then("x", async (index, { info }) => {
          workers.set(info.flow?.node ?? "", info.worker);
          busy.most = Math.max(busy.most, ++busy.now);
          await new Promise<void>((resolve) => t.environment.setTimer(1_000, resolve));
          busy.now--;
          return index;
        }),
    )
    .build();
  return {
    register: [wide],
    runtime: { activityConcurrency: 2 },
    differs: {
      in: "everything",
      because: "the first of two workers to poll takes the task",
    },
    run: async () => {
      await t.boot();
      const handle = await t.client.start(wide, 8, { id: "i" });
      await t.advance("10s");
      expect(await t.result(handle)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(busy.most).toBe(4); // two workers with two slots each
      expect(new Set(workers.values()).size).toBe(2);
    },
  };
});

scenario(
  "a worker that registers only the flow runs its functions, also if another process started the flow",
  () => {
    const own = flow<number>("own")
      .then("a", (n) => n + 1)
      .then("b", (n) => n * 2)
      .build();
    return {
      register: [],
      run: async (t) => {
        const handle = await t.client.start(own, 1, { id: "i" });
        await t.settle();
        expect((await handle.describe()).status).toBe("pending");
        await t.boot([own]);
        expect(await t.result(t.client.get(own, "i"))).toBe(4);
      },
    };
  },
);

scenario("tags, priority and a session per instance apply to steps of a flow", (t) => {
  const seen: unknown[] = [];
  const tagged = flow<number>("tagged")
    .then(
      "a",
      (n, { info: { tags, priority, session } }) => {
        seen.push({ tags, priority, session });
        return n;
      },
      { tags: ["gpu"], priority: 1, session: "gpu of {instance}" },
    )
    .build();
  return {
    register: [tagged],
    run: async () => {
      const handle = await t.client.start(tagged, 1, { id: "i" });
      await t.advance("1h");
      expect(await handle.describe()).toMatchObject({
        waitingFor: [{ node: "a", kind: "activity" }],
      });
      await t.boot([tagged], { tags: { tags: ["gpu"], untagged: false } });
      await t.settle();
      expect(await t.result(t.client.get(tagged, "i"))).toBe(1);
      expect(seen.splice(0)).toEqual([{ tags: ["gpu"], priority: 1, session: "gpu of i" }]);
    },
  };
});

scenario(
  "maxAttempts includes the first attempt, and the backoff stays below its maximum (T8, T9)",
  (t) => {
    const times: number[] = [];
    const flaky = flow("flaky")
      .fork({
        a: (f) =>
          f.then(
            "x",
            () => {
              times.push(t.now());
              throw new Error("always");
            },
            {
              retry: {
                maxAttempts: 4,
                backoff: { kind: "exponential", base: "1s", factor: 10, max: "15s" },
              },
            },
          ),
      })
      .build();
    return {
      register: [flaky],
      run: async () => {
        const handle = await t.client.start(flaky, undefined, { id: "i" });
        await t.advance("5m");
        expect(await t.failure(handle)).toMatchObject({ cause: { attempts: 4, node: "fork.a/x" } });
        const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
        times.length = 0;
        expect(waits).toEqual([1_000, 10_000, 15_000]);
      },
    };
  },
);

scenario("retries of a branch continue with their backoff after a process death (T29)", (t) => {
  const attempts: number[] = [];
  const flaky = flow("flaky")
    .fork({
      a: (f) =>
        f.then(
          "x",
          (_, { attempt }) => {
            attempts.push(attempt);
            if (attempt < 3) throw new Error("not yet");
            return attempt;
          },
          { retry: { maxAttempts: 3, backoff: { kind: "fixed", base: "10h" } } },
        ),
    })
    .build();
  return {
    register: [flaky],
    run: async () => {
      await t.client.start(flaky, undefined, { id: "i" });
      await t.crashAndRecover();
      expect(attempts).toEqual([1]);
      await t.advance("10h");
      await t.crashAndRecover();
      await t.advance("10h");
      expect(await t.result(t.client.get("i"))).toEqual({ a: 3 });
      expect(attempts.splice(0)).toEqual([1, 2, 3]);
    },
  };
});

scenario("bytes, dates, undefined and nested lists pass between steps unchanged (T34, T35)", () => {
  const values = flow<unknown>("values")
    .then("bytes", () => ({
      bytes: Uint8Array.of(1, 2),
      buffer: Buffer.from("x"),
      none: undefined,
    }))
    .then("look", ({ bytes, buffer, none }) => ({
      bytes: bytes instanceof Uint8Array && bytes.length,
      buffer: Buffer.isBuffer(buffer),
      none: none === undefined,
    }))
    .fork({
      shape: (f) =>
        f.then("pairs", () => [
          ["a", [1, 2]],
          ["b", [3]],
        ]),
      nothing: (f) => f.then("undefined", () => undefined),
      date: (f) => f.then("date", () => new Date(5)),
      envelope: (f) => f.then("user", () => ({ loop: "again", value: 1, branch: "x", ok: false })),
    })
    .then("join", (all) => all)
    .build();
  return {
    register: [values],
    run: async (t) => {
      const handle = await t.client.start(values, null, { id: "i" });
      expect(await t.result(handle)).toEqual({
        shape: [
          ["a", [1, 2]],
          ["b", [3]],
        ],
        nothing: undefined,
        date: new Date(5),
        envelope: { loop: "again", value: 1, branch: "x", ok: false },
      });
      expect(await handle.node("look").result()).toEqual({ bytes: 2, buffer: true, none: true });
    },
  };
});

scenario("branch keys named like object properties are plain data", () => {
  const odd = flow<string>("odd")
    .fork({
      ["__proto__"]: (f) => f.then("x", (s) => s),
      prototype: (f) => f.then("x", (s) => s),
    })
    .then("keys", (all) => [Object.keys(all), Object.getPrototypeOf(all) === Object.prototype])
    .build();
  return {
    register: [odd],
    run: async (t) => {
      const handle = await t.client.start(odd, "v", { id: "i" });
      expect(await t.result(handle)).toEqual([["__proto__", "prototype"], true]);
    },
  };
});
