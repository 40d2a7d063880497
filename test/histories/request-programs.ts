// Programs with requests and with messages between instances. The rules of programs.ts apply.

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
];
