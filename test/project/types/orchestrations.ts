// Orchestrations: their input and output, children, continueAsNew, and the context.

import {
  activity,
  orchestration,
  type DetachedOutcome,
  type Orchestration,
  type OrchestrationContext,
  type OrchestrationInfo,
  type Task,
} from "perdure";
import { expectTypeOf } from "../../support/expect-type.ts";

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
const optional = orchestration("optional", async (_, name?: string) => name ?? "unnamed");
const versioned = orchestration("versioned", async (_, n: number) => n, { version: "1.1.0" });
const never = orchestration("never", async (): Promise<void> => undefined);

// Children are typed by their definition, like activities.
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
// @ts-expect-error an unknown member
ctx.call(fulfil, { lines: [], note: "gift" });
// @ts-expect-error no such policy
ctx.call(versioned, 1, { onParentClose: "keep" });
// @ts-expect-error an activity is run, not called
ctx.call(ship, "a");

// Detached starts need an id and return their outcome.
expectTypeOf(ctx.startDetached(versioned, 1, { id: "detached" })).is<Task<DetachedOutcome>>();
ctx.startDetached("by name", { any: "thing" }, { id: "detached" });
// @ts-expect-error a detached start needs an id
ctx.startDetached(versioned, 1, {});
// @ts-expect-error an unknown member
ctx.startDetached(fulfil, { lines: [], note: "gift" }, { id: "detached" });
// @ts-expect-error not a number
ctx.startDetached(versioned, "1", { id: "detached" });

// continueAsNew takes the input of the orchestration and ends the function.
const loop = orchestration("loop", async (context, n: number): Promise<string> => {
  if (n === 0) return "over";
  // @ts-expect-error not the input of this orchestration
  if (n < 0) return context.continueAsNew("again");
  // @ts-expect-error the input is missing
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

// Every member of the context may be destructured.
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
    log.warn("destructured", { n });
    // @ts-expect-error no such unit
    sleep("1 fortnight");
  },
);

// Steps are typed by the return type of their function.
expectTypeOf(ctx.step("read", () => 1)).is<Task<number>>();
expectTypeOf(await ctx.step("fetch", async () => ({ body: "text" }))).is<{ body: string }>();
expectTypeOf(
  await ctx.step("context", ({ signal, attempt, idempotencyKey }) => {
    expectTypeOf(signal).is<AbortSignal>();
    return `${idempotencyKey} ${attempt}`;
  }),
).is<string>();
ctx.step("options", () => 1, { attempts: 3, timeout: "1s" });
// @ts-expect-error a step needs a name
ctx.step(() => 1);
// @ts-expect-error no such option
ctx.step("options", () => 1, { retries: 3 });
// @ts-expect-error the option for a number of attempts is attempts
ctx.step("options", () => 1, { retry: 3 });
// @ts-expect-error attempts and retry exclude each other
ctx.step("options", () => 1, { attempts: 3, retry: { onTimeout: false } });

// A shield and a scope have the value of their function.
expectTypeOf(await ctx.shield(async () => 1)).is<number>();
expectTypeOf(ctx.scope(async () => "text")).is<Task<string>>();

// An orchestration must be an async function.
// @ts-expect-error not async
orchestration("sync", () => 1);
// @ts-expect-error no such option
orchestration("bad", async () => 1, { attempts: 3 });
