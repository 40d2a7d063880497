// Entities: durable state per key, changed by handlers one at a time.

import { expect } from "vitest";
import { entity } from "../../../src/entity/index.ts";
import { activity, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const account = entity("account", {
  state: () => ({ cents: 0 }),
  handlers: {
    deposit: async (self, cents: number) => (self.state.cents += cents),
    withdraw: (self, cents: number) => {
      self.state.cents -= cents;
      if (self.state.cents < 0) throw new RangeError(`${self.key} has too little`);
      return self.state.cents;
    },
    close: (self) => {
      self.state = { cents: 0 };
    },
  },
  reads: {
    balance: (state) => state.cents,
    has: (state, cents: number) => state.cents >= cents,
  },
});

scenario("an entity begins with its first call and keeps its state", {
  register: [account],
  run: async (t) => {
    t.started.add("account/ada");
    const ada = t.client.entity(account, "ada");
    expect(await ada.balance()).toBe(0);
    expect(await t.client.get("account/ada").exists()).toBe(false);
    expect(await t.during(ada.deposit(500))).toBe(500);
    expect(await t.during(ada.deposit(20, { requestId: "once" }))).toBe(520);
    expect(await t.during(ada.deposit(20, { requestId: "once" }))).toBe(520);
    expect(await ada.balance()).toBe(520);
    expect(await ada.has(521)).toBe(false);
    await t.deploy();
    expect(await t.during(t.client.entity(account, "ada").deposit(1))).toBe(521);
    await t.during(t.client.entity(account, "ada").close());
    expect(await t.client.entity(account, "ada").balance()).toBe(0);
  },
});

scenario("a handler that throws leaves the state as it was", {
  register: [account],
  run: async (t) => {
    t.started.add("account/ada");
    const ada = t.client.entity(account, "ada");
    await t.during(ada.deposit(5));
    await expect(t.during(ada.withdraw(6))).rejects.toMatchObject({
      code: "REQUEST_REFUSED",
      kind: "failed",
      message: "ada has too little",
      cause: { name: "RangeError" },
    });
    expect(await ada.balance()).toBe(5);
    expect(await t.during(ada.withdraw(5))).toBe(0);
  },
});

scenario("handlers of one key run one at a time, in order, also while one waits", (t) => {
  const slow = activity("slow", async (value: number) => value);
  const list = entity("list", {
    state: () => ({ values: [] as number[] }),
    handlers: {
      add: async (self, value: number) => {
        const { length } = self.state.values;
        await self.ctx.run(slow, value);
        self.state.values.push(value);
        return length;
      },
    },
    reads: { all: (state) => state.values },
  });
  return {
    register: [slow, list],
    run: async () => {
      t.started.add("list/a");
      const a = t.client.entity(list, "a");
      const values = Array.from({ length: 30 }, (_, i) => i);
      const lengths = await t.during(Promise.all(values.map((value) => a.add(value))));
      expect(lengths).toEqual(values);
      expect(await a.all()).toEqual(values);
    },
  };
});

scenario("a deploy may add handlers and change them: new code never changes the past", (t) => {
  const slow = activity("slow", async (value: number) => value);
  const counter = (step: number, more: boolean) =>
    entity("counter", {
      state: () => ({ count: 100 * step }),
      handlers: {
        add: (self) => (self.state.count += step),
        addSlowly: async (self, value: number) => {
          const { count } = self.state;
          self.state.count = count + (await self.ctx.run(slow, value));
          return self.state.count;
        },
        ...(more ? { reset: (self: { state: { count: number } }) => (self.state.count = 0) } : {}),
      },
    });
  const before = counter(1, false);
  const after = counter(10, true);
  return {
    register: [slow, before],
    run: async () => {
      t.started.add("counter/a");
      const old = t.client.entity(before, "a");
      await t.during(Promise.all([old.add(), old.add(), old.addSlowly(5), old.add()]));
      await t.deploy([slow, after]);
      const fresh = t.client.entity(after, "a");
      expect(await t.during(fresh.add())).toBe(118);
      expect((await t.client.get("counter/a").describe()).waitingFor).toMatchObject([
        { kind: "requests", names: ["add", "addSlowly", "reset"] },
      ]);
      expect(await t.during(t.client.get("counter/a").ask("reset"))).toBe(0);
      await t.deploy([slow, before]);
      expect(await t.during(t.client.entity(before, "a").add())).toBe(1);
      await expect(
        t.during(t.client.get("counter/a").ask("reset", undefined, { timeout: 0 })),
      ).rejects.toMatchObject({ code: "TIMEOUT" });
    },
    outdated: ["counter/a"],
  };
});

const transfer = orchestration(
  "transfer",
  async (ctx, { from, to, cents }: { from: string; to: string; cents: number }) => {
    const before = await ctx.entity(account, from).balance();
    await ctx.entity(account, from).withdraw(cents);
    await ctx.entity(account, to).deposit(cents);
    return before;
  },
);

scenario("orchestrations call entities, and start them", {
  register: [account, transfer],
  run: async (t) => {
    t.started.add("account/ada").add("account/bob");
    await t.during(t.client.entity(account, "ada").deposit(10));
    const handle = await t.client.start(transfer, { from: "ada", to: "bob", cents: 4 });
    expect(await t.result(handle)).toBe(10);
    expect(await t.client.entity(account, "ada").balance()).toBe(6);
    expect(await t.client.entity(account, "bob").balance()).toBe(4);
  },
});

scenario("a call chain that comes back to an entity that waits is refused", {
  register: (() => {
    const node: ReturnType<typeof makeNode> = makeNode();
    return [node];
  })(),
  run: async (t) => {
    t.started.add("node/a").add("node/b");
    const a = t.client.entity(makeNode(), "a");
    await expect(t.during(a.visit(["b", "a"]))).rejects.toMatchObject({
      code: "REQUEST_REFUSED",
      message: expect.stringContaining('"node/a" → "node/b" → "node/a"'),
    });
    expect(await t.during(a.visit(["b"]))).toBe(2);
  },
});

function makeNode() {
  const node = entity("node", {
    state: () => ({}),
    handlers: {
      visit: async (self, path: readonly string[]): Promise<number> => {
        const [next, ...rest] = path;
        if (next === undefined) return 1;
        const other = self.ctx.entity(node as never, next) as unknown as {
          visit: (path: readonly string[]) => Promise<number>;
        };
        return 1 + (await other.visit(rest));
      },
    },
  });
  return node;
}

scenario("an entity compacts itself, and old executions are pruned", {
  register: [account],
  run: async (t) => {
    t.started.add("account/ada");
    const ada = t.client.entity(account, "ada");
    for (let round = 0; round < 5; round++) {
      await t.during(Promise.all(Array.from({ length: 500 }, () => ada.deposit(1))));
    }
    expect(await ada.balance()).toBe(2500);
    const { execution } = await t.client.get("account/ada").describe();
    expect(execution).toBeGreaterThan(1);
    await t.advance("2h");
    expect((await t.client.get("account/ada").executions()).length).toBeLessThanOrEqual(2);
  },
});
