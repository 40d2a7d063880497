// Middleware around starts, events, requests, activities and steps. Every history replays without it.

import { expect } from "vitest";
import { batchJob } from "../../../src/batch/index.ts";
import { flow } from "../../../src/flow/index.ts";
import { activity, job, orchestration, request, type Middleware } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const add = activity("add", (value: number) => value + 1);
const main = orchestration("main", async (ctx, value: number) => {
  const added = await ctx.run(add, value);
  return ctx.step("double", () => added * 2);
});

/** Notes each call on the way in and on the way out. */
function noting(notes: string[], who: string): Middleware {
  const around = async <T>(kind: string, name: string, next: () => Promise<T>): Promise<T> => {
    notes.push(`${who} ${kind} ${name}`);
    const result = await next();
    notes.push(`${who} ${kind} ${name} over`);
    return result;
  };
  return {
    start: ({ kind, name }, next) => around(kind, name, next),
    raise: ({ kind, name }, next) => around(kind, name, next),
    ask: ({ kind, name }, next) => around(kind, name, next),
    activity: ({ kind, name }, next) => around(kind, name, next),
    step: ({ kind, name }, next) => around(kind, name, next),
  };
}

scenario("the first middleware is the outermost, around every kind of call", (t) => {
  const notes: string[] = [];
  t.middleware = [noting(notes, "a"), noting(notes, "b")];
  const greet = request<string, string>("greet");
  const host = orchestration("host", async (ctx) => {
    void ctx.serve(greet, (name) => `hello ${name}`);
    return ctx.waitFor("end");
  });
  return {
    register: [add, main, host],
    run: async () => {
      const done = await t.client.start(main, 1, { id: "m" });
      expect(await t.result(done)).toBe(4);
      const handle = await t.client.start(host, undefined, { id: "h" });
      await t.settle();
      expect(await t.during(handle.ask(greet, "you"))).toBe("hello you");
      await handle.raise("end", 1);
      expect(await t.result(handle)).toBe(1);
      const around = (call: string): string[] =>
        ["a", "b"].map((who) => `${who} ${call}`).concat(`b ${call} over`, `a ${call} over`);
      for (const call of ["start main", "activity add", "step double", "ask greet", "raise end"]) {
        expect(notes.filter((note) => note.includes(call))).toEqual(around(call));
      }
    },
  };
});

scenario(
  "layers change inputs, options, contexts and results, and the changes are recorded",
  (t) => {
    t.middleware = [
      {
        start: (call, next) =>
          next({
            ...call,
            input: (call.input as number) + 10,
            options: { ...call.options, attributes: { by: "middleware" } },
            context: { ...call.context, tenant: "acme" },
          }),
        raise: (call, next) => next({ ...call, input: `${call.input as string}!` }),
        activity: async (call, next) => {
          const result = await next({ ...call, input: (call.input as number) * 100 });
          return (result as number) + (call.context["tenant"] === "acme" ? 0.5 : 0);
        },
        step: async (_call, next) => [await next()],
      },
    ];
    const long = orchestration("long", async (ctx, value: number) => {
      const added = await ctx.run(add, value);
      const stepped = await ctx.step("keep", () => added);
      return [stepped, await ctx.waitFor("go"), ctx.context];
    });
    return {
      register: [add, long],
      run: async () => {
        const handle = await t.client.start(long, 1, { id: "m", context: { locale: "de" } });
        await handle.raise("go", "now");
        await t.settle();
        t.middleware = []; // the history replays without it
        await t.deploy();
        expect(await t.result(handle)).toEqual([
          [1101.5],
          "now!",
          { locale: "de", tenant: "acme" },
        ]);
        expect(await handle.describe()).toMatchObject({ attributes: { by: "middleware" } });
      },
    };
  },
);

scenario("an ask carries the context to the instance that it starts", (t) => {
  const tell = request<undefined, unknown>("tell");
  const teller = orchestration("teller", async (ctx) => {
    for await (const call of ctx.requests(tell)) call.answer(ctx.context);
  });
  t.middleware = [{ ask: (call, next) => next({ ...call, context: { tenant: "acme" } }) }];
  return {
    register: [teller],
    run: async () => {
      const asked = t.client.ask(teller, "t", tell, undefined, { start: {} });
      expect(await t.during(asked)).toEqual({ tenant: "acme" });
      expect(await t.during(t.client.get(teller, "t").ask(tell))).toEqual({ tenant: "acme" });
    },
  };
});

scenario("a layer that throws refuses the call, and nothing is written", (t) => {
  const refuse = (): never => {
    throw new Error("not allowed");
  };
  return {
    register: [add, main],
    run: async () => {
      const existing = await t.client.start(main, 1, { id: "e" });
      t.middleware = [{ start: refuse, raise: refuse, ask: refuse }];
      const { client } = await t.boot();
      await expect(client.start(main, 1, { id: "m" })).rejects.toThrow("not allowed");
      await expect(client.enqueue(add, 1, { id: "j" })).rejects.toThrow("not allowed");
      await expect(client.startMany(main, [{ input: 1 }])).rejects.toThrow("not allowed");
      await expect(client.enqueueMany(add, [1, 2])).rejects.toThrow("not allowed");
      await expect(client.raise("e", "go")).rejects.toThrow("not allowed");
      await expect(client.get("e").ask("x")).rejects.toThrow("not allowed");
      expect(await client.count()).toBe(1);
      expect(await client.get("m").exists()).toBe(false);
      await client.withoutMiddleware().start(main, 1, { id: "m" });
      expect(await t.result(client.get(main, "m"))).toBe(4);
      expect(await t.result(existing)).toBe(4);
    },
  };
});

scenario("an activity layer may answer without the activity; a failed attempt is retried", (t) => {
  let calls = 0;
  t.middleware = [
    {
      activity: async ({ options }, next) => {
        calls++;
        if (options.attempt === 1) throw new Error("try again");
        return options.attempt === 2 ? "cached" : next();
      },
    },
  ];
  const never = activity("never", (): string => {
    throw new Error("must not run");
  });
  const asks = orchestration("asks", (ctx) => ctx.run(never, undefined, { attempts: 3 }));
  return {
    register: [never, asks],
    run: async () => {
      const handle = await t.client.start(asks, undefined, { id: "m" });
      await t.advance("1m");
      expect(await t.result(handle)).toBe("cached");
      expect(calls).toBe(2);
      calls = 0;
    },
  };
});

scenario("a start layer sees jobs, and the ids that were started", (t) => {
  const starts: string[] = [];
  t.middleware = [
    {
      start: async (call, next) => {
        const started = await next({ ...call, context: { tenant: "acme" } });
        starts.push(`${call.kind} ${call.name} ${started.ids.length}`);
        return started;
      },
    },
  ];
  const mail = job("mail", (to: string, ctx) => [to, ctx.context]);
  return {
    register: [mail],
    run: async () => {
      const handle = await t.client.enqueue(mail, "you", { id: "j" });
      expect(await t.result(handle)).toEqual(["you", { tenant: "acme" }]);
      await t.client.enqueueMany(mail, ["a", "b"], { requestId: "r" });
      expect(starts.splice(0)).toEqual(["enqueue mail 1", "enqueueMany mail 2"]);
    },
  };
});

scenario("activity layers are around each item of a batch and each node of a flow", (t) => {
  const names: string[] = [];
  t.middleware = [
    {
      start: (call, next) => next({ ...call, context: { tenant: "acme" } }),
      activity: (call, next) => {
        names.push(`${call.name} ${String(call.context["tenant"])}`);
        return next();
      },
    },
  ];
  const index = batchJob("index", (items: number[]) => items.map((each) => ({ ok: each * 10 })), {
    max: 2,
    wait: "1s",
  });
  const line = flow<number>("line")
    .then("first", (n) => n + 1)
    .build();
  return {
    register: [index, line],
    run: async () => {
      const ids = await t.client.enqueueMany(index, [1, 2], { requestId: "r" });
      await t.settle();
      expect(await Promise.all(ids.map((id) => t.result(t.client.get(id))))).toEqual([10, 20]);
      const handle = await t.client.start(line, 1, { id: "f" });
      expect(await t.result(handle)).toBe(2);
      const node = expect.stringMatching(/first.* acme$/);
      expect(names.splice(0)).toEqual(["index acme", "index acme", node]);
    },
  };
});
