// The context of an instance: where it comes from, who inherits it, and what keeps it.

import { expect } from "vitest";
import { batchJob } from "../../../src/batch/index.ts";
import { entity } from "../../../src/entity/index.ts";
import { activity, job, orchestration, request, type Handle } from "../../../src/index.ts";
import { limiter } from "../../../src/limiter/index.ts";
import { schedule } from "../../../src/schedule/index.ts";
import { scenario } from "../support/scenario.ts";

const read = activity("read", (_input: unknown, ctx) => ctx.context);
const child = orchestration("child", async (ctx) => ({
  own: ctx.context,
  activity: await ctx.run(read),
}));
const tell = request<undefined, unknown>("tell");
const teller = orchestration("teller", async (ctx) => {
  for await (const call of ctx.requests(tell)) call.answer(ctx.context);
});
const ACME = { tenant: "acme", locale: "de" };

scenario("activities, steps and children get the context of the start", () => {
  const main = orchestration("main", async (ctx) => ({
    own: ctx.context,
    activity: await ctx.run(read),
    step: await ctx.step("look", (s) => s.context),
    child: await ctx.call(child),
  }));
  return {
    register: [read, child, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "m", context: ACME });
      const inside = { own: ACME, activity: ACME };
      expect(await t.result(handle)).toEqual({ ...inside, step: ACME, child: inside });
      expect(await handle.describe()).toMatchObject({ context: ACME });
    },
  };
});

scenario(
  "a started instance inherits the context, and the call may replace and remove members",
  () => {
    const main = orchestration("main", async (ctx) => {
      const called = await ctx.call(child, undefined, { context: { locale: "en", plan: 7 } });
      const bare = { tenant: undefined, locale: undefined };
      const none = await ctx.call(child, undefined, { context: bare });
      await ctx.startDetached(child, undefined, { id: "detached", context: { locale: "fr" } });
      const asked = await ctx.ask("t1", tell, undefined, { start: { orchestration: teller } });
      const changed = await ctx.ask("t2", tell, undefined, {
        start: { orchestration: teller, context: { tenant: "other" } },
      });
      return { called: called.own, none: none.own, asked, changed };
    });
    return {
      register: [read, child, teller, main],
      run: async (t) => {
        const handle = await t.client.start(main, undefined, { id: "m", context: ACME });
        expect(await t.result(handle)).toEqual({
          called: { tenant: "acme", locale: "en", plan: 7 },
          none: {},
          asked: ACME,
          changed: { tenant: "other", locale: "de" },
        });
        const detached: Handle = t.client.get("detached");
        expect(await t.result(detached)).toMatchObject({ own: { tenant: "acme", locale: "fr" } });
      },
    };
  },
);

scenario("a client's ask gives the context to the instance that it starts, once", {
  register: [teller],
  run: async (t) => {
    const ask = (tenant: string) =>
      t.during(
        t.client.ask(teller, "t", tell, undefined, { start: { context: { tenant } }, timeout: 5 }),
      );
    expect(await ask("acme")).toEqual({ tenant: "acme" });
    expect(await ask("other")).toEqual({ tenant: "acme" });
  },
});

scenario("entities and limiters keep the context of the call that started them", () => {
  const cart = entity("cart", {
    state: () => ({ seen: [] as unknown[] }),
    handlers: {
      add: async (self) => {
        self.state.seen.push(self.ctx.context);
        return self.state.seen;
      },
    },
  });
  const gate = limiter("gate", { concurrency: 1 });
  const main = orchestration("main", async (ctx) => {
    const seen = await ctx.entity(cart, "c").add();
    return gate.run(ctx, async () => [seen, await ctx.run(read)]);
  });
  return {
    register: [read, cart, gate, main],
    differs: { in: "everything", because: "a step of the limiter may end after the next message" },
    run: async (t) => {
      const first = await t.client.start(main, undefined, { id: "a", context: { tenant: "a" } });
      expect(await t.result(first)).toEqual([[{ tenant: "a" }], { tenant: "a" }]);
      const second = await t.client.start(main, undefined, { id: "b", context: { tenant: "b" } });
      const both = [{ tenant: "a" }, { tenant: "a" }];
      expect(await t.result(second)).toEqual([both, { tenant: "b" }]);
      expect(await t.client.get("gate").describe()).toMatchObject({ context: { tenant: "a" } });
    },
  };
});

scenario("continueAsNew, restart, rewind and fork keep the context", (t) => {
  let fails = true;
  const flaky = activity(
    "flaky",
    (_input: unknown, ctx) => {
      if (fails) throw new Error("not yet");
      return ctx.context;
    },
    { attempts: 1 },
  );
  const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
    if (round === 1) return ctx.continueAsNew(2);
    return [ctx.context, await ctx.run(flaky)];
  });
  return {
    register: [flaky, main],
    run: async () => {
      const context = { tenant: "acme" };
      const handle = await t.client.start(main, 1, { id: "m", context });
      await t.failure(handle);
      await handle.restart({ input: 2 });
      await t.failure(handle);
      fails = false;
      await handle.rewind({ to: "failure" });
      expect(await t.result(handle)).toEqual([context, context]);
      await t.client.fork("m", { before: { activity: "flaky" }, id: "f" });
      const fork: Handle = t.client.get("f");
      expect(await t.result(fork)).toEqual([context, context]);
    },
  };
});

scenario("jobs and batches get the context of their enqueue; an item may replace members", () => {
  const one = job("one", (_input: unknown, ctx) => ctx.context);
  const many = batchJob(
    "many",
    (items: number[], ctx) => items.map((_, index) => ({ ok: ctx.items[index]?.context })),
    { max: 2, wait: "1s" },
  );
  return {
    register: [one, many],
    run: async (t) => {
      const context = { tenant: "acme" };
      const handle = await t.client.enqueue(one, 1, { id: "j", context });
      expect(await t.result(handle)).toEqual(context);
      const later = await t.client.enqueue("one", 1, { id: "l", context, delay: "1m" });
      await t.advance("1m");
      expect(await t.result(later)).toEqual(context);
      const items = [1, { input: 2, context: { tenant: "other", plan: 7 } }];
      const ids = await t.client.enqueueMany(many, items, { context, requestId: "r" });
      await t.advance("1s");
      const handles: Handle[] = ids.map((id) => t.client.get(id));
      expect(await Promise.all(handles.map((each) => t.result(each)))).toEqual([
        { tenant: "acme" },
        { tenant: "other", plan: 7 },
      ]);
    },
  };
});

scenario("a schedule's runs get the context of the schedule, and pass no start middleware", (t) => {
  const starts: string[] = [];
  t.middleware = [{ start: (call, next) => (starts.push(call.name), next()) }];
  const nightly = schedule("nightly", {
    start: child,
    every: "1h",
    context: { tenant: "acme" },
  });
  return {
    register: [read, child, nightly],
    run: async () => {
      await t.advance("1h");
      const { items } = await t.client.list({ name: "child" });
      const handle: Handle = t.client.get(items[0]?.id ?? "");
      const context = { tenant: "acme" };
      expect(await t.result(handle)).toEqual({ own: context, activity: context });
      expect(await t.client.get("nightly").describe()).toMatchObject({ context });
      expect(starts).toEqual([]);
    },
  };
});

scenario("without a context nothing is stored and the code reads an empty record", {
  register: [read, child],
  run: async (t) => {
    const handle = await t.client.start(child, undefined, { id: "c", context: {} });
    expect(await t.result(handle)).toEqual({ own: {}, activity: {} });
    const [first] = await t.events(handle);
    expect(first).not.toHaveProperty("context");
    expect(await handle.describe()).not.toHaveProperty("context");
  },
});

scenario("a deploy does not change the context, and code cannot change it", (t) => {
  const gate = t.gate<undefined, string>("gate");
  const main = orchestration("main", async (ctx) => {
    const before = ctx.context;
    await ctx.run(gate.activity, undefined);
    const isFrozen = Object.isFrozen(before) && Object.isFrozen(before["roles"]);
    return [before, ctx.context, isFrozen];
  });
  return {
    register: [gate.activity, main],
    run: async () => {
      const context = { tenant: "acme", roles: ["admin"] };
      const handle = await t.client.start(main, undefined, { id: "m", context });
      await t.deploy();
      await t.settle();
      await gate.finish(undefined, "done");
      expect(await t.result(handle)).toEqual([context, context, true]);
    },
  };
});
