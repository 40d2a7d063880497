// Programs with requests and with messages between instances. The rules of programs.ts apply.

import { entity } from "../../src/entity/index.ts";
import { orchestration, request } from "../../src/index.ts";
import type { Program } from "./programs.ts";

const add = request<number, number>("add");
const slow = request<number, number>("slow");
const close = request("close");
const noted = "noted";

/** A loop: it answers, refuses, and continues as new with an unanswered request. */
const counter = orchestration("counter", async (ctx, sum: number): Promise<number> => {
  let total = sum;
  for await (const call of ctx.requests(add, close)) {
    if (call.is(close)) {
      call.answer();
      break;
    }
    if (call.is(add)) {
      if (call.input < 0) {
        call.refuse(`${call.input} is negative`);
        continue;
      }
      if (call.input === 100 && total !== sum) return ctx.continueAsNew(total); // the request moves along
      total += call.input;
      call.answer(total);
    }
  }
  const last = await ctx.race({ note: ctx.waitFor<string>(noted), late: ctx.sleep("1h") });
  return last.key === "note" ? total : -total;
});

/** Handlers: concurrent ones with timers inside, and one that throws. */
const handlers = orchestration("handlers", async (ctx) => {
  const slowly = ctx.serve(slow, async (input) => {
    await ctx.sleep(input * 1_000);
    return input * 2;
  });
  const serial = ctx.serve(
    add,
    async (input) => {
      if (input === 0) throw new RangeError("zero");
      return ctx.step("add", () => input + 1);
    },
    { serial: true },
  );
  await ctx.waitFor("closing");
  slowly.cancel("closing");
  serial.cancel("closing");
  return "closed";
});

const errorName = (error: unknown): string => (error instanceof Error ? error.name : "unknown");

/** Asks, with every outcome of an ask. */
const asking = orchestration("asking", async (ctx) => {
  const sums = await ctx.all([ctx.ask("counter", add, 1), ctx.ask("counter", add, 2)]);
  const refused = await ctx.ask("counter", add, -1).catch(errorName);
  const failed = await ctx.ask("handlers", add, 0).catch(errorName);
  const missing = await ctx.ask("no such instance", add, 1).catch(errorName);
  const won = await ctx.race({ answer: ctx.ask("handlers", slow, 60), timer: ctx.sleep("1s") });
  const late = await ctx.ask("handlers", slow, 60, { timeout: "1s" }).catch(errorName);
  const started = await ctx.ask("second counter", add, 5, {
    start: { orchestration: counter, input: 10 },
  });
  return [sums, refused, failed, missing, won.key, late, started];
});

const apart = orchestration("apart", async (ctx) => ctx.waitFor("never"));

/** Events and detached starts, delivered and refused. */
const sending = orchestration("sending", async (ctx) => {
  const first = await ctx.startDetached(apart, undefined, { id: "apart" });
  const again = await ctx.startDetached(apart, undefined, { id: "apart" }).catch(errorName);
  const used = await ctx.startDetached(apart, undefined, {
    id: "apart",
    onConflict: "useExisting",
  });
  await ctx.raise("second counter", noted, "hello");
  const refused = await ctx.raise("no such instance", noted, "hello").catch(errorName);
  await ctx.raise("not yet started", noted, "kept", { ifMissing: "keep", keepFor: "1d" });
  void ctx.raise("no such instance", noted, "unobserved").catch(() => undefined);
  return [first, again, used, refused];
});

const receiver = orchestration("receiver", async (ctx) => ctx.waitFor(noted));

/** Messages whose tasks the code uses after the turn that sent them, or never. */
const later = orchestration("later", async (ctx) => {
  const sent = ctx.raise("receiver", noted, "hello");
  const refused = ctx.raise("no such instance", noted, "hello");
  void ctx.raise("receiver", noted, "again");
  await ctx.sleep("1s");
  await sent;
  return refused.catch(errorName);
});

/** Entities: answers that record the state, with handlers that make calls and handlers that throw. */
const account = entity("account", {
  state: () => ({ cents: 0 }),
  handlers: {
    deposit: (self, cents: number) => (self.state.cents += cents),
    depositLater: async (self, cents: number) => {
      const before = self.state.cents;
      await self.ctx.sleep("1s");
      return (self.state.cents = before + cents);
    },
    fail: (self) => {
      self.state.cents = -1;
      throw new RangeError("no");
    },
  },
  reads: { balance: (state) => state.cents },
});
const paying = orchestration("paying", async (ctx) => {
  const ada = ctx.entity(account, "ada");
  const balances = await ctx.all([ada.deposit(1), ada.depositLater(2), ada.deposit(4)]);
  const failed = await ada.fail().catch(errorName);
  return [balances, failed, await ada.balance()];
});

export const REQUEST_PROGRAMS: readonly Program[] = [
  {
    name: "requests",
    register: [counter, handlers, asking, apart, sending],
    async run(t) {
      await t.client.start(counter, 0, { id: "counter" });
      await t.client.start(handlers, undefined, { id: "handlers" });
      const main = await t.start(asking, undefined, { id: "asking" });
      await main.result();
      const asks = [100, 7].map((input) =>
        t.client
          .get("counter")
          .ask(add, input, { requestId: `client ${input}` })
          .catch(errorName),
      );
      await t.settle();
      await Promise.all([t.client.get("second counter").ask(close), t.settle()]);
      await (await t.start(sending, undefined, { id: "sending" })).result();
      await t.client.get("handlers").raise("closing");
      await t.client.get("counter").terminate("recorded");
      await t.settle();
      await Promise.all(asks);
    },
  },
  {
    name: "quiet-messages",
    register: [receiver, later],
    async run(t) {
      await t.client.start(receiver, undefined, { id: "receiver" });
      await (await t.start(later, undefined, { id: "later" })).result();
    },
  },
  {
    name: "entities",
    register: [account, paying],
    async run(t) {
      await (await t.start(paying, undefined, { id: "paying" })).result();
    },
  },
];
