// Long flows compact themselves automatically (semantics 26).

import { expect, test } from "vitest";
import { event, Perdure } from "../../../src/index.ts";
import { flow, again, done } from "../../../src/flow/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";
import { freshStore } from "../../support/test-store.ts";

const go = event<string>("go");

/** A flow that counts to its input, one step per round. */
function counter(name: string, options: { compactAfter?: number } = {}) {
  return flow<number>(name, options)
    .then("begin", (to) => ({ to, n: 0 }))
    .loop("l", (f) => f.then("s", ({ to, n }) => (n < to ? again({ to, n: n + 1 }) : done(n))), {
      maxIterations: 1_000_000,
    })
    .build();
}

scenario("a long loop runs in short executions and carries its value over", () => {
  const count = counter("count", { compactAfter: 30 });
  return {
    register: [count],
    run: async (t) => {
      const handle = await t.client.start(count, 100, { id: "i" });
      expect(await t.result(handle)).toBe(100);
      const executions = await handle.executions();
      expect(executions.length).toBeGreaterThan(5);
      for (const { execution } of executions) {
        const events = await t.events(handle, execution);
        expect(events.length).toBeLessThan(40);
        expect(events[0]).toMatchObject({ input: "100", orchestrationVersion: count.version });
      }
      expect(await handle.node("l#3/s").result()).toEqual({
        loop: "again",
        value: { to: 100, n: 4 },
      });
      expect(await handle.node("l/s").result()).toEqual({ loop: "done", value: 100 });
      expect(await handle.node("begin").result()).toEqual({ to: 100, n: 0 });
      expect(await handle.node("l").result()).toBe(100);
    },
  };
});

test("by default a flow compacts after 1,000 events", async () => {
  const count = counter("count");
  await using perdure = await Perdure.open(await freshStore(), { register: [count] });
  const handle = await perdure.client.start(count, 1_200, { id: "i" });
  expect(await handle.result()).toBe(1_200);
  const executions = await handle.executions();
  expect(executions).toHaveLength(3);
  const [first] = executions;
  const length = (await handle.history({ execution: first?.execution ?? 0 })).length;
  expect(length).toBeGreaterThan(1_000);
  expect(length).toBeLessThan(1_010);
});

scenario(
  "waits receive signals in the order in which they began, not in the order of the branches",
  () => {
    const waits = flow<number>("waits", { compactAfter: 20 })
      .fork({
        late: (f) => f.delay("d", "1s").waitFor("w", go),
        early: (f) => f.waitFor("w", go),
        loop: (f) =>
          f
            .delay("d", "2s")
            .loop("l", (g) => g.then("s", (n) => (n < 15 ? again(n + 1) : done(n))), {
              maxIterations: 50,
            }),
      })
      .build();
    return {
      register: [waits],
      run: async (t) => {
        const handle = await t.client.start(waits, 0, { id: "i" });
        await t.advance("1m");
        expect((await handle.executions()).length).toBeGreaterThan(1);
        expect((await handle.describe()).waitingFor).toMatchObject([
          { node: "fork.early/w" },
          { node: "fork.late/w" },
        ]);
        await handle.raise(go, "first");
        await handle.raise(go, "second");
        expect(await t.result(handle)).toEqual({ early: "first", late: "second", loop: 15 });
      },
    };
  },
);

scenario("timers and timeouts fire at their due times, also in a later execution", () => {
  const timed = flow<number>("timed", { compactAfter: 20 })
    .fork({
      delay: (f) => f.delay("d", "1h").then("at", (n) => n),
      wait: (f) => f.waitFor(go, { timeout: "2h", onTimeout: "continue" }),
      loop: (f) =>
        f.loop(
          "l",
          (g) => g.delay("tick", "1m").then("s", (n) => (n < 30 ? again(n + 1) : done(n))),
          {
            maxIterations: 50,
          },
        ),
    })
    .build();
  return {
    register: [timed],
    run: async (t) => {
      const handle = await t.client.start(timed, 0, { id: "i" });
      const began = t.now();
      await t.advance("40m");
      expect((await handle.executions()).length).toBeGreaterThan(2);
      expect((await handle.describe()).waitingFor).toMatchObject([
        { node: "fork.delay/d", due: new Date(began + 3_600_000) },
        { node: "fork.wait/go" },
        { node: "fork.wait/go", due: new Date(began + 7_200_000) },
      ]);
      await t.advance("20m");
      expect(await handle.node("fork.delay/at").result()).toBe(0);
      await t.advance("59m");
      expect((await handle.describe()).status).toBe("running");
      await t.advance("1m");
      expect(await t.result(handle)).toEqual({ delay: 0, wait: null, loop: 30 });
    },
  };
});

scenario("busy branches reach a common compaction point", () => {
  const busy = (f: { n: number }) => f.n;
  const loops = flow<number>("loops", { compactAfter: 20 })
    .fork({
      a: (f) =>
        f.loop("l", (g) => g.then("s", (n) => (n < 150 ? again(busy({ n }) + 1) : done(n))), {
          maxIterations: 1_000,
        }),
      b: (f) =>
        f.loop("l", (g) => g.then("s", (n) => (n < 150 ? again(n + 1) : done(n))), {
          maxIterations: 1_000,
        }),
    })
    .build();
  return {
    register: [loops],
    run: async (t) => {
      const handle = await t.client.start(loops, 0, { id: "i" });
      await t.advance("1m");
      expect(await t.result(handle)).toEqual({ a: 150, b: 150 });
      const executions = await handle.executions();
      expect(executions.length).toBeGreaterThan(3);
      for (const { execution } of executions) {
        expect((await t.events(handle, execution)).length).toBeLessThan(150);
      }
    },
  };
});

scenario("a branch with a long activity delays its siblings only briefly", (t) => {
  const gate = t.gate<number, string>("gate");
  const ticking = flow<number>("ticking", { compactAfter: 10 })
    .fork({
      work: (f) => f.then("work", gate.activity),
      ticks: (f) =>
        f.loop(
          "l",
          (g) => g.delay("tick", "1s").then("s", (n) => (n < 100 ? again(n + 1) : done(n))),
          {
            maxIterations: 200,
          },
        ),
    })
    .build();
  return {
    register: [ticking],
    run: async () => {
      const handle = await t.client.start(ticking, 0, { id: "i" });
      await t.advance("15m");
      expect((await handle.describe()).waitingFor).toMatchObject([{ node: "fork.work/work" }]);
      expect(gate.visits).toHaveLength(1);
      await gate.finish(0, "worked");
      expect(await t.result(handle)).toEqual({ work: "worked", ticks: 100 });
    },
  };
});

scenario("compensations are carried over and run in the execution in which the flow fails", () => {
  const log: string[] = [];
  const trip = flow<number>("trip", { compactAfter: 20 })
    .then("book", () => "booked")
    .compensate(({ input, output }) => void log.push(`undo ${input} ${output}`))
    .then("zero", () => 0)
    .loop("l", (f) => f.then("s", (n) => (n < 30 ? again(n + 1) : done(n))), {
      maxIterations: 99,
    })
    .then("fail", (): number => {
      throw new Error("at the end");
    })
    .build();
  return {
    register: [trip],
    run: async (t) => {
      const handle = await t.client.start(trip, 7, { id: "i" });
      expect(await t.failure(handle)).toMatchObject({ message: "at the end" });
      expect((await handle.executions()).length).toBeGreaterThan(2);
      expect(log.splice(0)).toEqual(["undo 7 booked"]);
    },
  };
});

scenario(
  "results of nodes outside of loops are carried over up to 256 KiB; larger ones stay in their execution",
  () => {
    const large = flow<number>("large", { compactAfter: 20 })
      .then("small", () => "small")
      .fork({ big: (f) => f.then("text", () => "x".repeat(300_000)) })
      .then("zero", ({ big }) => big.length - 300_000)
      .loop("l", (f) => f.then("s", (n) => (n < 50 ? again(n + 1) : done(n))), {
        maxIterations: 99,
      })
      .build();
    return {
      register: [large],
      run: async (t) => {
        const handle = await t.client.start(large, 1, { id: "i" });
        expect(await t.result(handle)).toBe(50);
        const last = (await t.events(handle))[0];
        const state = JSON.parse(String(last?.kind === "OrchestrationStarted" && last.state)) as {
          results: [string, object][];
        };
        expect(state.results).toEqual([
          ["small", { value: "small" }],
          ["fork.big/text", { execution: 1 }],
          ["fork", { execution: 1 }],
          ["zero", { value: 0 }],
        ]);
        expect(await handle.node("fork").result()).toEqual({ big: "x".repeat(300_000) });
        expect(await handle.node("fork.big/text").result()).toHaveLength(300_000);
        // Results that are carried over remain after the old executions are pruned.
        await t.client.prune("i", { keepLast: 1 });
        expect(await t.client.get(large, "i").node("zero").result()).toBe(0);
      },
    };
  },
);

scenario("reading a pruned result is refused; a result that was carried over is returned", () => {
  const large = flow<number>("large", { compactAfter: 20 })
    .then("small", () => "small")
    .fork({ big: (f) => f.then("text", () => "x".repeat(300_000)) })
    .then("zero", () => 0)
    .loop("l", (f) => f.then("s", (n) => (n < 30 ? again(n + 1) : done(n))), { maxIterations: 99 })
    .waitFor(go)
    .build();
  return {
    register: [large],
    run: async (t) => {
      const handle = await t.client.start(large, 1, { id: "i" });
      await t.settle();
      await t.client.prune("i", { keepLast: 1 });
      const refused = (path: string) => ({
        code: "INSTANCE_NOT_FOUND",
        message: expect.stringContaining(
          `The result of node "${path}" of instance "i" was in execution 1, which was pruned`,
        ) as string,
      });
      const check = async (): Promise<void> => {
        for (const asked of ["fork.big/text", "text"]) {
          const seen = refused("fork.big/text");
          await expect(handle.node(asked as "fork.big/text").result()).rejects.toMatchObject(seen);
          await expect(t.client.get("i").node(asked).result()).rejects.toMatchObject(seen);
        }
        await expect(handle.node("fork").result()).rejects.toMatchObject(refused("fork"));
        expect(await handle.node("small").result()).toBe("small");
        expect(await t.client.get("i").node("small").result()).toBe("small");
      };
      expect((await handle.describe()).status).toBe("running");
      await check();
      await handle.raise(go, "went");
      expect(await t.result(handle)).toBe("went");
      await check();
    },
  };
});

scenario("a flow with a state over the limit does not compact and continues", () => {
  const heavy = flow<number>("heavy", { compactAfter: 20 })
    .then("text", () => "x".repeat(1_200_000))
    .fork({
      keep: (f) => f.waitFor(go),
      loop: (f) =>
        f
          .then("zero", () => 0)
          .loop("l", (g) => g.then("s", (n) => (n < 40 ? again(n + 1) : done(n))), {
            maxIterations: 99,
          }),
    })
    .build();
  return {
    register: [heavy],
    run: async (t) => {
      const handle = await t.client.start(heavy, 1, { id: "i" });
      await t.settle();
      await handle.raise(go, "went");
      expect(await t.result(handle)).toEqual({ keep: "went", loop: 40 });
      expect(await handle.executions()).toHaveLength(1);
    },
  };
});

scenario("a restart begins with the original input after any number of compactions", () => {
  const count = counter("count", { compactAfter: 20 });
  return {
    register: [count],
    run: async (t) => {
      const handle = await t.client.start(count, 40, { id: "i" });
      expect(await t.result(handle)).toBe(40);
      const before = (await handle.executions()).length;
      await handle.restart();
      await t.settle();
      expect(await t.result(handle)).toBe(40);
      expect((await handle.executions()).length).toBe(2 * before);
    },
  };
});

scenario("unread signals, pauses and cancels work across a compaction", () => {
  const patient = flow<number>("patient", { compactAfter: 20 })
    .loop("l", (f) => f.delay("tick", "1s").then("s", (n) => (n < 30 ? again(n + 1) : done(n))), {
      maxIterations: 99,
    })
    .waitFor(go)
    .delay("end", "1h")
    .build();
  return {
    register: [patient],
    run: async (t) => {
      const handle = await t.client.start(patient, 0, { id: "i" });
      await handle.raise(go, "early");
      await t.advance("15s");
      await handle.pause("short break");
      await t.advance("1m");
      await handle.resume();
      await t.advance("1m");
      expect((await handle.executions()).length).toBeGreaterThan(2);
      expect((await handle.describe()).waitingFor).toMatchObject([{ node: "end" }]);
      await handle.cancel("enough");
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
    },
  };
});

scenario("a map of many items compacts between items and runs each item once", () => {
  const runs = new Map<number, number>();
  const many = flow<number>("many", { compactAfter: 30 })
    .map(
      "m",
      (n) => Array.from({ length: n }, (_, index) => index),
      (f) =>
        f
          .then("x", (n) => {
            runs.set(n, (runs.get(n) ?? 0) + 1);
            return n * 2;
          })
          .delay("d", 10),
      { concurrency: 5 },
    )
    .build();
  return {
    register: [many],
    run: async (t) => {
      runs.clear();
      const handle = await t.client.start(many, 60, { id: "i" });
      await t.advance("1m");
      expect(await t.result(handle)).toEqual(Array.from({ length: 60 }, (_, index) => index * 2));
      expect((await handle.executions()).length).toBeGreaterThan(3);
      expect([...runs.values()].every((count) => count === 1)).toBe(true);
    },
  };
});
