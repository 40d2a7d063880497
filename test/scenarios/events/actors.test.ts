// Long-running patterns: chats, actors, health checks, chains (duroxide's larger scenarios).

import { expect } from "vitest";
import { TRANSFER_TABLES } from "../../../src/core/provider/transfer.ts";
import { activity, event, orchestration, type Provider } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("a chat answers each message in a separate execution", () => {
  const llm = activity("llm", (prompt: string) => `re: ${prompt}`);
  const chat = orchestration("chat", async (ctx, log: readonly string[]): Promise<unknown> => {
    const first = await ctx.race({ message: ctx.waitFor("message"), idle: ctx.sleep("1h") });
    if (first.key === "idle") return log;
    const reply = await ctx.run(llm, String(first.value));
    return ctx.continueAsNew([...log, reply]);
  });
  return {
    register: [llm, chat],
    run: async (t) => {
      const handle = await t.client.start(chat, [], { id: "chat" });
      await Promise.all(["hi", "how are you", "bye"].map((m) => handle.raise("message", m)));
      await t.settle();
      await t.deploy();
      await t.client.get("chat").raise("message", "one more");
      await t.advance("1h");
      expect(await t.result(t.client.get("chat"))).toEqual([
        "re: hi",
        "re: how are you",
        "re: bye",
        "re: one more",
      ]);
    },
  };
});

scenario(
  "provisioning: a chain with polling that starts an eternal health check (toygres)",
  (t) => {
    const log: string[] = [];
    const act = (name: string) =>
      activity(name, (input: string) => void log.push(`${name} ${input}`));
    const [create, dns, probe, remove] = [act("create"), act("dns"), act("probe"), act("remove")];
    let ready = 0;
    const isReady = activity("isReady", () => ++ready >= 3);
    const health = orchestration("health", async (ctx, db: string): Promise<void> => {
      await ctx.run(probe, db);
      const first = await ctx.race({ stop: ctx.waitFor("stop"), next: ctx.sleep("30s") });
      if (first.key === "next") return ctx.continueAsNew(db);
    });
    const provision = orchestration("provision", async (ctx, db: string) => {
      await ctx.run(create, db, { attempts: 3 });
      while (!(await ctx.run(isReady))) await ctx.sleep("5s");
      await ctx.run(dns, db);
      void ctx.startDetached(health, db, { id: `health-${db}` });
      return "ready";
    });
    const destroy = orchestration("destroy", async (ctx, db: string) => {
      await ctx.run(remove, db);
      return "gone";
    });
    return {
      register: [create, dns, probe, remove, isReady, health, provision, destroy],
      run: async () => {
        const provisioned = await t.client.start(provision, "db1", { id: "provision-db1" });
        await t.advance("10s");
        expect(await t.result(provisioned)).toBe("ready");
        await t.advance("5m");
        await t.deploy();
        await t.advance("5m");
        const checked = log.filter((line) => line === "probe db1").length;
        expect(checked).toBe(21);
        await t.client.get("health-db1").raise("stop");
        const gone = await t.client.start(destroy, "db1", { id: "destroy-db1" });
        expect(await t.result(gone)).toBe("gone");
        expect(await t.client.get("health-db1").describe()).toMatchObject({ status: "completed" });
        expect(log.filter((line) => !line.startsWith("probe"))).toEqual([
          "create db1",
          "dns db1",
          "remove db1",
        ]);
      },
    };
  },
);

scenario("many eternal actors each process their messages", () => {
  const counter = orchestration("counter", async (ctx, sum: number): Promise<number> => {
    const message = await ctx.waitFor("add");
    if (message === "end") return sum;
    return ctx.continueAsNew(sum + Number(message));
  });
  return {
    register: [counter],
    run: async (t) => {
      const handles = await Promise.all(
        Array.from({ length: 25 }, (_, n) => t.client.start(counter, 0, { id: `actor-${n}` })),
      );
      for (let round = 1; round <= 4; round++) {
        await Promise.all(handles.map((handle, n) => handle.raise("add", n * round)));
      }
      await Promise.all(handles.map((handle) => handle.raise("add", "end")));
      for (const [n, handle] of handles.entries()) expect(await t.result(handle)).toBe(n * 10);
    },
  };
});

scenario("concurrent chains of continueAsNew with activities inside", () => {
  const act = activity("act", (n: number) => n + 1);
  const chain = orchestration("chain", async (ctx, n: number): Promise<number> => {
    const next = await ctx.run(act, n);
    return next >= 8 ? next : ctx.continueAsNew(next);
  });
  const main = orchestration("main", (ctx) =>
    ctx.all(Array.from({ length: 6 }, (_, n) => ctx.call(chain, n, { id: `chain-${n}` }))),
  );
  return {
    register: [act, chain, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual([8, 8, 8, 8, 8, 8]);
      expect((await t.client.get("chain-0").describe()).execution).toBe(8);
    },
    differs: { in: "everything", because: "the chains run concurrently and may end in any order" },
  };
});

scenario(
  "generated request ids expire after six hours; ids chosen by callers stay as long as the instance",
  () => {
    const actor = orchestration("actor", async (ctx, total: number): Promise<number> => {
      let sum = total;
      for (let n = 0; n < 5; n++) sum += Number(await ctx.waitFor("add"));
      return ctx.continueAsNew(sum);
    });
    return {
      register: [actor],
      run: async (t) => {
        const handle = await t.client.start(actor, 0, { id: "actor" });
        const chosen: string[] = [];
        for (let round = 1; round <= 6; round++) {
          await t.advance("361m");
          chosen.push(`order-${round}`);
          for (let n = 0; n < 4; n++) await handle.raise("add", n);
          await handle.raise("add", 1, { requestId: `order-${round}` });
          await t.settle();
        }
        expect((await handle.describe()).execution).toBe(7);
        const ids = await requestIds(t.store);
        expect(ids.filter((id) => !id.startsWith("perdure."))).toEqual(chosen);
        expect(ids).toHaveLength(chosen.length + 4);
      },
    };
  },
);

async function requestIds({ transfer }: Provider): Promise<string[]> {
  const table = TRANSFER_TABLES.find(({ name }) => name === "requests");
  if (table === undefined || transfer === undefined)
    throw new Error("The requests table cannot be read.");
  const column = Object.keys(table.columns).indexOf("id");
  const rows = await transfer.readRows({ table, after: null, limit: 1_000 });
  return rows.map((row) => String(row[column]));
}

scenario(
  "two instances exchange requests and responses through an activity that raises events",
  (t) => {
    const send = activity("send", async ([to, name, data]: readonly [string, string, string]) => {
      await t.client.get(to).raise(name, data);
    });
    const server = orchestration("server", async (ctx) => {
      for await (const request of ctx.events("request")) {
        const { from, n } = request as { from: string; n: number };
        if (n < 0) return "closed";
        await ctx.run(send, [from, "response", String(n * n)]);
      }
      return "unreachable";
    });
    const client = orchestration("client", (ctx) => ctx.waitFor("response"));
    return {
      register: [send, server, client],
      run: async () => {
        const serving = await t.client.start(server, undefined, { id: "server" });
        for (const n of [3, 5]) {
          const handle = await t.client.start(client, undefined, { id: `client-${n}` });
          await serving.raise("request", { from: handle.id, n });
          expect(await t.result(handle)).toBe(String(n * n));
        }
        await serving.raise("request", { from: "", n: -1 });
        expect(await t.result(serving)).toBe("closed");
      },
    };
  },
);

scenario("an actor with a backlog prefetches a few events and handles all of them in order", () => {
  const message = event<number>("message");
  const handle = activity("handle", (n: number) => n);
  const actor = orchestration("actor", async (ctx, done: readonly number[]): Promise<unknown> => {
    const n = await ctx.waitFor(message);
    const handled = [...done, await ctx.run(handle, n)];
    return handled.length === 60 ? handled : ctx.continueAsNew(handled);
  });
  return {
    register: [handle, actor],
    differs: { in: "everything", because: "the activity may end before or after the next event" },
    run: async (t) => {
      const actorHandle = await t.client.start(actor, [], { id: "actor" });
      const numbers = Array.from({ length: 100 }, (_, n) => n);
      for (const n of numbers) await actorHandle.raise(message, n);
      await t.advance("1m");
      const again = t.client.get("actor");
      expect(await t.result(again)).toEqual(numbers.slice(0, 60));
      expect((await again.unread()).items.map(({ data }) => data)).toEqual(numbers.slice(60));
      for (const execution of [2, 30, 60]) {
        const events = await t.events(again, execution);
        const taken = events.filter(({ kind }) => kind === "EventReceived");
        expect(taken.length).toBeLessThanOrEqual(17); // the current event and sixteen prefetched ones
      }
    },
  };
});

scenario("unread events are taken from the inbox as soon as the code waits for one", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep("1h");
    const last = await ctx.waitFor("last");
    const others: unknown[] = [];
    for (let n = 0; n < 50; n++) others.push(await ctx.waitFor("other"));
    return { last, others };
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "main" });
      await t.settle();
      const numbers = Array.from({ length: 50 }, (_, n) => n);
      for (const n of numbers) await handle.raise("other", n);
      await handle.raise("last", "the last");
      await t.settle();
      await t.deploy();
      await t.advance("30m");
      expect((await t.client.get("main").unread()).items).toHaveLength(51);
      await t.advance("31m");
      expect(await t.result(t.client.get("main"))).toEqual({ last: "the last", others: numbers });
    },
  };
});
