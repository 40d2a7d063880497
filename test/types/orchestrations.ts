// Orchestrations: their input and output, children, continueAsNew, and the context in one's hands.

import {
  activity,
  orchestration,
  type Orchestration,
  type OrchestrationContext,
  type OrchestrationInfo,
  type Task,
} from "perdure";
import { expectTypeOf } from "../support/expect-type.ts";

declare const ctx: OrchestrationContext;
interface Order {
  readonly lines: readonly string[];
}
const ship = activity("ship", async (line: string) => ({ line, shipped: true }));

const fulfil = orchestration("fulfil", async (context, order: Order) => {
  expectTypeOf(context).is<OrchestrationContext<Order>>();
  const shipped = await context.all(order.lines.map((line) => context.run(ship, line)));
  if (shipped.length === 0) return { status: "empty" as const };
  return { status: "shipped" as const, shipped };
});
expectTypeOf(fulfil).is<
  Orchestration<
    Order,
    | { status: "empty"; shipped?: never }
    | { status: "shipped"; shipped: { line: string; shipped: boolean }[] }
  >
>();

const noInput = orchestration("no input", async (context) => context.uuid());
const optional = orchestration("optional", async (_, name?: string) => name ?? "nobody");
const versioned = orchestration("versioned", async (_, n: number) => n, { version: "1.1.0" });
const never = orchestration("never", async (): Promise<void> => undefined);

// Children: as activities, by their definition.
expectTypeOf(ctx.call(noInput)).is<Task<string>>();
expectTypeOf(await ctx.call(versioned, 1)).is<number>();
expectTypeOf(await ctx.call(optional)).is<string>();
expectTypeOf(await ctx.call(never)).is<void>();
expectTypeOf(await ctx.call("by name", { any: "thing" })).is<unknown>();
const { status } = await ctx.call(fulfil, { lines: ["a"] });
expectTypeOf(status).is<"empty" | "shipped">();
ctx.call(versioned, 1, { id: "child", version: "1.1.0", onParentClose: "abandon" });
// @ts-expect-error the input is missing
ctx.call(versioned);
// @ts-expect-error not a number
ctx.call(versioned, "1");
// @ts-expect-error a member that nobody asked for
ctx.call(fulfil, { lines: [], note: "gift" });
// @ts-expect-error no such policy
ctx.call(versioned, 1, { onParentClose: "keep" });
// @ts-expect-error an activity is run, not called
ctx.call(ship, "a");

// Detached ones need an id and give nothing back.
expectTypeOf(ctx.startDetached(versioned, 1, { id: "on its own" })).is<void>();
ctx.startDetached("by name", { any: "thing" }, { id: "on its own" });
// @ts-expect-error without an id nobody would ever find it
ctx.startDetached(versioned, 1, {});
// @ts-expect-error a member that nobody asked for
ctx.startDetached(fulfil, { lines: [], note: "gift" }, { id: "on its own" });
// @ts-expect-error not a number
ctx.startDetached(versioned, "1", { id: "on its own" });

// continueAsNew takes the orchestration's own input, and ends the function.
const loop = orchestration("loop", async (context, n: number): Promise<string> => {
  if (n === 0) return "over";
  // @ts-expect-error not this orchestration's input
  if (n < 0) return context.continueAsNew("again");
  // @ts-expect-error it needs one
  if (n > 99) return context.continueAsNew();
  return context.continueAsNew(n - 1, { version: "2.0.0" });
});
expectTypeOf(loop).is<Orchestration<number, string>>();
expectTypeOf(ctx.continueAsNew({ any: "thing" })).is<Promise<never>>();
const poller = orchestration("poller", async (context) => {
  await context.sleep("1h");
  return context.continueAsNew(undefined);
});
expectTypeOf(await ctx.call(poller)).is<never>();

// Every member may be taken apart from the context.
orchestration(
  "destructured",
  async ({ run, sleep, all, now, uuid, random, info, log }, n: number) => {
    expectTypeOf(await run(ship, "a")).is<{ line: string; shipped: boolean }>();
    expectTypeOf(sleep("1s")).is<Task<void>>();
    expectTypeOf(await sleep(new Date(n))).is<void>();
    expectTypeOf(await all([run(ship, "a"), sleep(1)])).is<
      [{ line: string; shipped: boolean }, void]
    >();
    expectTypeOf(now()).is<Date>();
    expectTypeOf(uuid()).is<string>();
    expectTypeOf(random()).is<number>();
    expectTypeOf(info).is<OrchestrationInfo>();
    log.warn("taken apart", { n });
    // @ts-expect-error no such unit
    sleep("1 fortnight");
  },
);

// Steps: in place, typed by what they return.
expectTypeOf(ctx.step("read", () => 1)).is<Task<number>>();
expectTypeOf(await ctx.step("fetch", async () => ({ body: "text" }))).is<{ body: string }>();
expectTypeOf(
  await ctx.step("context", ({ signal, attempt, idempotencyKey }) => {
    expectTypeOf(signal).is<AbortSignal>();
    return `${idempotencyKey} ${attempt}`;
  }),
).is<string>();
ctx.step("options", () => 1, { retry: 3, timeout: "1s" });
// @ts-expect-error a step needs a name
ctx.step(() => 1);
// @ts-expect-error no such option
ctx.step("options", () => 1, { attempts: 3 });

// A shield and a scope have their function's value.
expectTypeOf(await ctx.shield(async () => 1)).is<number>();
expectTypeOf(ctx.scope(async () => "text")).is<Task<string>>();

// What is returned must be a promise: an orchestration is an async function.
// @ts-expect-error not async
orchestration("sync", () => 1);
// @ts-expect-error no such option
orchestration("bad", async () => 1, { retry: 3 });
