// Patterns that people build: duroxide's documented samples and its larger scenarios, in our words.

import { expect } from "vitest";
import { activity, event, orchestration } from "../../src/index.ts";
import { scenario } from "./support/scenario.ts";

scenario("control flow: branches and loops on recorded values", () => {
  const flip = activity("flip", (n: number) => n % 2 === 0);
  const main = orchestration("main", async (ctx, numbers: readonly number[]) => {
    const path: string[] = [];
    for (const n of numbers) {
      if (await ctx.run(flip, n)) path.push(`even ${n}`);
      else path.push(`odd ${n}`);
    }
    return path;
  });
  return {
    register: [flip, main],
    run: async (t) => {
      const handle = await t.client.start(main, [1, 2, 3], { id: "i" });
      expect(await t.result(handle)).toEqual(["odd 1", "even 2", "odd 3"]);
    },
  };
});

scenario("polling a job with time-outs, until it is ready or too late", () => {
  let asked = 0;
  const status = activity("status", () => (++asked < 4 ? "working" : "ready"));
  const main = orchestration("main", (ctx) =>
    ctx.race({
      job: async () => {
        while ((await ctx.run(status)) !== "ready") await ctx.sleep("30s");
        return ctx.now();
      },
      late: ctx.sleep("10m"),
    }),
  );
  return {
    register: [status, main],
    run: async (t) => {
      const begun = t.now();
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("10m");
      expect(await t.result(handle)).toEqual({ key: "job", value: new Date(begun + 90_000) });
    },
  };
});

scenario("an approval that reminds, escalates and expires", (t) => {
  const approval = event<{ by: string }>("approval");
  const mails: string[] = [];
  const mail = activity("mail", (to: string) => void mails.push(to));
  const main = orchestration("approval", async (ctx) => {
    for (const to of ["clerk", "manager", "director"]) {
      await ctx.run(mail, to);
      const first = await ctx.race({ yes: ctx.event(approval), late: ctx.sleep("1d") });
      if (first.key === "yes") return `approved by ${first.value.by}`;
    }
    return "expired";
  });
  return {
    register: [mail, main],
    run: async () => {
      const lucky = await t.client.start(main, undefined, { id: "lucky" });
      const forgotten = await t.client.start(main, undefined, { id: "forgotten" });
      await t.advance("36h");
      await lucky.raise(approval, { by: "the manager" });
      await t.advance("2d");
      expect(await t.result(lucky)).toBe("approved by the manager");
      expect(await t.result(forgotten)).toBe("expired");
      expect(mails).toHaveLength(5);
    },
  };
});

scenario("fan-out and fan-in over a list, a few at a time", () => {
  let running = 0;
  let most = 0;
  const ship = activity("ship", async (line: number) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    return line * 10;
  });
  const main = orchestration("main", async (ctx, lines: readonly number[]) => {
    const results: number[] = [];
    for (let i = 0; i < lines.length; i += 4) {
      results.push(...(await ctx.all(lines.slice(i, i + 4).map((line) => ctx.run(ship, line)))));
    }
    return results;
  });
  return {
    register: [ship, main],
    run: async (t) => {
      const lines = Array.from({ length: 10 }, (_, n) => n);
      const handle = await t.client.start(main, lines, { id: "i" });
      expect(await t.result(handle)).toEqual(lines.map((n) => n * 10));
      expect(most).toBeLessThanOrEqual(4);
    },
  };
});

scenario("a configuration that is reloaded while the work goes on", () => {
  const used: string[] = [];
  const work = activity("work", (config: string) => void used.push(config));
  const main = orchestration("main", async (ctx, config: string): Promise<string> => {
    const first = await ctx.race({ tick: ctx.sleep("1m"), config: ctx.event("config") });
    if (first.key === "config" && first.value === "stop") return config;
    if (first.key === "config") return ctx.continueAsNew(String(first.value));
    await ctx.run(work, config);
    return ctx.continueAsNew(config);
  });
  return {
    register: [work, main],
    run: async (t) => {
      const handle = await t.client.start(main, "v1", { id: "i" });
      await t.advance("2m");
      await handle.raise("config", "v2");
      await t.advance("2m");
      await handle.raise("config", "stop");
      expect(await t.result(handle)).toBe("v2");
      expect(used).toEqual(["v1", "v1", "v2", "v2"]);
    },
  };
});

scenario("a chat: each message is answered, each turn is an execution of its own", () => {
  const llm = activity("llm", (prompt: string) => `re: ${prompt}`);
  const chat = orchestration("chat", async (ctx, log: readonly string[]): Promise<unknown> => {
    const first = await ctx.race({ message: ctx.event("message"), idle: ctx.sleep("1h") });
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
      const first = await ctx.race({ stop: ctx.event("stop"), next: ctx.sleep("30s") });
      if (first.key === "next") return ctx.continueAsNew(db);
    });
    const provision = orchestration("provision", async (ctx, db: string) => {
      await ctx.run(create, db, { retry: 3 });
      while (!(await ctx.run(isReady))) await ctx.sleep("5s");
      await ctx.run(dns, db);
      ctx.startDetached(health, db, { id: `health-${db}` });
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

scenario("actors: a hundred small eternal instances, each with its own messages", () => {
  const counter = orchestration("counter", async (ctx, sum: number): Promise<number> => {
    const message = await ctx.event("add");
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
  };
});

scenario(
  "request and response between instances, by events and an activity that sends them",
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
    const client = orchestration("client", (ctx) => ctx.event("response"));
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
