// A short instance must not wait behind a long queue of instances of another name, and every instance must begin at
// some time (begin-window.ts). The window is small here, and polls are rare, so a lost wake-up shows as a standstill.

import { expect } from "vitest";
import { activity, orchestration, type Handle } from "../../../src/index.ts";
import { HOLD_MS } from "../../../src/runtime/instances/begin-window.ts";
import { sizeOn } from "../../support/test-store.ts";
import { scenario } from "../support/scenario.ts";
import type { Gate } from "../support/gate.ts";
import type { World } from "../support/world.ts";

const BULK = sizeOn({ sqlite: 120, postgres: 60 });
/** Few turns at a time, so that most starts are leased from the store and not at their insert. */
const SMALL = { activityConcurrency: 2, leaseBatch: 4, turnConcurrency: 8 };

async function startAll(
  t: World,
  name: string,
  inputs: readonly unknown[],
): Promise<readonly Handle[]> {
  return Promise.all(inputs.map((input, n) => t.client.start(name, input, { id: `${name}-${n}` })));
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => n);
}

scenario("a short instance passes a queue of instances of another name", (t) => {
  // All slots stay taken until the short instance runs, however slow the store is.
  const isPassed = Promise.withResolvers<void>();
  let ran = 0;
  const work = activity("work", async (n: number) => {
    await isPassed.promise;
    ran++;
    return n;
  });
  const begun = new Set<number>();
  const bulk = orchestration("bulk", async (ctx, n: number) => {
    begun.add(n);
    for (let i = 0; i < 3; i++) await ctx.run(work, n);
    return n;
  });
  let begunBefore = Infinity;
  const short = orchestration("short", async () => {
    begunBefore = Math.min(begunBefore, begun.size);
    isPassed.resolve();
  });
  return {
    register: [work, bulk, short],
    runtime: { activityConcurrency: 4, leaseBatch: 8, turnConcurrency: 16 },
    run: async () => {
      const starts = upTo(BULK).map((n) => t.client.start(bulk, n));
      const last = await t.client.start(short, undefined);
      const begunAtStart = begun.size; // how many have begun while the starts were written depends on the store
      const handles = await Promise.all(starts);
      await t.result(last);
      expect(begunBefore - begunAtStart).toBeLessThan(BULK / 2);
      for (const handle of handles) await t.result(handle);
      expect(ran).toBe(BULK * 3);
    },
  };
});

scenario(
  "an instance that always has another event leaves room for others, one lease at a time",
  () => {
    const EVENTS = 40;
    let rounds = 0;
    const busy = orchestration("busy", async (ctx, left: number): Promise<unknown> => {
      await ctx.waitFor("more");
      rounds = Math.max(rounds, EVENTS - left + 1);
      return left === 1 ? undefined : ctx.continueAsNew(left - 1);
    });
    let roundsBefore = Infinity;
    const short = orchestration("short", async () => {
      roundsBefore = Math.min(roundsBefore, rounds);
    });
    return {
      register: [busy, short],
      runtime: { leaseBatch: 1 },
      run: async (t) => {
        const events = upTo(EVENTS).map((value) => ({ name: "more", data: value }));
        const eager = await t.client.start(busy, EVENTS, { id: "busy", priority: 1, events });
        const last = await t.client.start(short, undefined);
        await t.result(last);
        await t.result(eager);
        expect(roundsBefore).toBeLessThan(EVENTS / 2);
      },
    };
  },
);

scenario("instances whose activities have a slot do not hold back others of their name", (t) => {
  const work = t.gate<number, number>("work");
  const steps: PromiseWithResolvers<number>[] = [];
  const enter = (): Promise<number> => {
    const step = Promise.withResolvers<number>();
    steps.push(step);
    return step.promise;
  };
  const bulk = orchestration("bulk", async (ctx, n: number) =>
    n < 2 ? ctx.step("hold", enter) : ctx.run(work.activity, n),
  );
  return {
    register: [work.activity, bulk],
    runtime: { ...SMALL, activityConcurrency: 100, stepConcurrency: 1 },
    run: async () => {
      // One step holds the only step slot and the other step waits for it. There are enough activity slots.
      const handles = await startAll(t, "bulk", upTo(42));
      await t.settle();
      expect(work.waiting).toHaveLength(40);
      await finishAll(t, work);
      for (const n of [0, 1]) {
        steps[n]?.resolve(n);
        await t.settle();
      }
      for (const [n, handle] of handles.entries()) expect(await t.result(handle)).toBe(n);
    },
  };
});

scenario("children of one name can nest deeper than the size of the window", (t) => {
  const work = activity("work", (n: number) => n);
  const nested = orchestration("nested", async (ctx, depth: number): Promise<number> => {
    const worked = ctx.run(work, depth);
    if (depth > 0) await ctx.call("nested", depth - 1);
    return worked;
  });
  return {
    register: [work, nested],
    runtime: { ...SMALL, activityConcurrency: 1, leaseBatch: 1 },
    run: async () => {
      const handles = await startAll(t, "nested", [12, 12, 12]);
      for (const handle of handles) expect(await t.result(handle)).toBe(12);
    },
  };
});

scenario("activities in all slots can wait for unbegun instances of the same name", (t) => {
  const ask = activity("ask", (id: string) => t.client.get(`bulk-${id}`).result());
  const bulk = orchestration("bulk", async (ctx, { asks }: { asks: string | null }) => {
    return asks === null ? "answer" : ctx.run(ask, asks);
  });
  return {
    register: [ask, bulk],
    runtime: { ...SMALL, leaseBatch: 2 },
    differs: {
      in: "times and logs",
      because: "how long an instance counts against the window depends on the mode",
    },
    run: async () => {
      // The first two instances hold both slots, the others wait for a slot, and all of them wait for the last instance.
      const asks = [...upTo(12).map(() => "12"), null];
      const handles = await startAll(
        t,
        "bulk",
        asks.map((id) => ({ asks: id })),
      );
      await t.settle();
      for (let opened = 0; opened < 8; opened++) await t.advance(HOLD_MS);
      for (const handle of handles) expect(await t.result(handle)).toBe("answer");
    },
  };
});

scenario("held-back instances begin in another process after a crash", (t) => {
  const work = t.gate<number, number>("work");
  const bulk = orchestration("bulk", (ctx, n: number) => ctx.run(work.activity, n));
  return {
    register: [work.activity, bulk],
    runtime: SMALL,
    differs: {
      in: "everything",
      because: "which instances had begun before the crash depends on timing",
    },
    run: async () => {
      const handles = await startAll(t, "bulk", upTo(30));
      await t.settle();
      expect((await withStatus(handles, "pending")).length).toBeGreaterThan(10);
      await t.crashAndRecover();
      await finishAll(t, work);
      for (const n of upTo(30)) expect(await t.result(t.client.get(`bulk-${n}`))).toBe(n);
    },
  };
});

scenario("held-back instances can be cancelled, terminated, paused and resumed", (t) => {
  const work = t.gate<number, number>("work");
  const bulk = orchestration("bulk", (ctx, n: number) => ctx.run(work.activity, n));
  return {
    register: [work.activity, bulk],
    runtime: SMALL,
    run: async () => {
      const handles = await startAll(t, "bulk", upTo(40));
      await t.settle();
      const [cancelled, terminated, paused] = await Promise.all(
        [37, 38, 39].map(async (n) => {
          const handle = t.client.get(`bulk-${n}`);
          expect((await handle.describe()).status).toBe("pending");
          return handle;
        }),
      );
      if (cancelled === undefined || terminated === undefined || paused === undefined) return;
      await cancelled.cancel("not needed");
      await terminated.terminate("not needed");
      await paused.pause();
      await finishAll(t, work);
      for (const [n, handle] of handles.slice(0, 37).entries()) {
        expect(await t.result(handle)).toBe(n);
      }
      await t.failure(cancelled);
      await t.failure(terminated);
      expect((await paused.describe()).status).toBe("paused");
      await paused.resume();
      await finishAll(t, work);
      expect(await t.result(paused)).toBe(39);
    },
  };
});

scenario("pausing instances that wait for a slot lets other instances begin", (t) => {
  const work = t.gate<number, number>("work");
  const bulk = orchestration("bulk", (ctx, n: number) => ctx.run(work.activity, n));
  return {
    register: [work.activity, bulk],
    runtime: SMALL,
    differs: { in: "times and logs", because: "paused instances stop counting at different times" },
    run: async () => {
      const handles = await startAll(t, "bulk", upTo(30));
      await t.settle();
      const waiting = await withStatus(handles, "running");
      expect(waiting.length).toBeGreaterThan(3);
      for (const handle of waiting) await handle.pause();
      await finishAll(t, work);
      await t.advance(HOLD_MS);
      await finishAll(t, work);
      expect(await withStatus(handles, "pending")).toEqual([]);
      for (const handle of waiting) await handle.resume();
      await finishAll(t, work);
      for (const [n, handle] of handles.entries()) expect(await t.result(handle)).toBe(n);
    },
  };
});

/** Finishes every waiting run of the gate with its input as the result, until none is left. */
async function finishAll(t: World, gate: Gate<number, number>): Promise<void> {
  await t.settle();
  for (let next = gate.waiting[0]; next !== undefined; next = gate.waiting[0]) {
    await gate.finish(next, next);
  }
}

async function withStatus(handles: readonly Handle[], status: string): Promise<readonly Handle[]> {
  const described = await Promise.all(handles.map((handle) => handle.describe()));
  return handles.filter((_, n) => described[n]?.status === status);
}
