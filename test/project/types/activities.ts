// Activities: the input and output types of a call are inferred from the function.

import {
  activity,
  orchestration,
  type Activity,
  type ActivityContext,
  type OrchestrationContext,
  type Task,
} from "perdure";
import { expectTypeOf } from "../../support/expect-type.ts";

declare const ctx: OrchestrationContext;
interface Order {
  readonly id: number;
  readonly note?: string;
}

const charge = activity("charge", async (order: Order) => ({ receipt: order.id }));
const add = activity("add", ([a, b]: [number, number]) => a + b);
const refresh = activity("refresh", async () => "fresh");
const greet = activity("greet", (name?: string) => `hello ${name ?? "you"}`);
const maybe = activity("maybe", (name: string | undefined) => name?.length);
const echo = activity("echo", (value: unknown) => value);
const pick = activity("pick", (kind: "card" | "bank") => (kind === "card" ? 1 : "two"));
const nothing = activity("nothing", (_: null) => undefined);
const nested = activity("nested", async (_: undefined) => Promise.resolve([1, 2] as const));

// The definition has the types of its input, its output and its name.
expectTypeOf(charge).is<Activity<Order, { receipt: number }, "charge">>();
expectTypeOf(add).is<Activity<[number, number], number, "add">>();

// The task of a call has the awaited return type of the function.
expectTypeOf(ctx.run(charge, { id: 1 })).is<Task<{ receipt: number }>>();
expectTypeOf(await ctx.run(charge, { id: 1 })).is<{ receipt: number }>();
expectTypeOf(await ctx.run(add, [1, 2])).is<number>();
expectTypeOf(await ctx.run(pick, "card")).is<number | string>();
expectTypeOf(await ctx.run(nothing, null)).is<undefined>();
expectTypeOf(await ctx.run(nested)).is<readonly [1, 2]>();
expectTypeOf(await ctx.run(charge, { id: 1 }).map(({ receipt }) => `${receipt}`)).is<string>();

// The input is required if the function needs it.
// @ts-expect-error the input is missing
ctx.run(charge);
// @ts-expect-error null is not undefined
ctx.run(nothing);
// Otherwise the input is optional.
ctx.run(refresh);
ctx.run(refresh, undefined, { timeout: "5s" });
ctx.run(greet);
ctx.run(greet, "ada");
ctx.run(maybe);
ctx.run(maybe, "ada");
ctx.run(echo);
ctx.run(echo, { any: ["thing", 1] });

// A wrong input is an error at the call.
// @ts-expect-error not a number
ctx.run(charge, { id: "1" });
// @ts-expect-error an unknown member
ctx.run(charge, { id: 1, nota: "misspelt" });
// @ts-expect-error one element instead of two
ctx.run(add, [1]);
// @ts-expect-error not one of the two
ctx.run(pick, "cash");
// @ts-expect-error not a string
ctx.run(greet, 7);

// A result cannot be used as a different type.
// @ts-expect-error the result is an object
const receipt: string = await ctx.run(charge, { id: 1 });
// @ts-expect-error the result may be undefined
const length: number = await ctx.run(maybe, "ada");

// A call by name is untyped.
expectTypeOf(ctx.run("charge", { id: 1 })).is<Task<unknown>>();
expectTypeOf(await ctx.run("charge")).is<unknown>();

// Options are checked.
ctx.run(charge, { id: 1 }, { attempts: 3, timeout: "30s", scheduleToClose: 60_000, priority: 1 });
ctx.run(charge, { id: 1 }, { retry: { maxAttempts: 3, backoff: { kind: "linear", base: "1s" } } });
// @ts-expect-error no such option
ctx.run(charge, { id: 1 }, { retries: 3 });
// @ts-expect-error no such unit
ctx.run(charge, { id: 1 }, { timeout: "3 weeks" });
// @ts-expect-error no such kind
ctx.run(charge, { id: 1 }, { retry: { backoff: { kind: "cubic" } } });
// @ts-expect-error no such default
activity("bad", () => 1, { timeOut: "3s" });

// The second argument of the function is the context, which may be destructured.
activity("contextual", (input: string, context) => {
  expectTypeOf(context).is<ActivityContext>();
  const { signal, attempt, idempotencyKey, info, log } = context;
  expectTypeOf(signal).is<AbortSignal>();
  expectTypeOf(attempt).is<number>();
  expectTypeOf(idempotencyKey).is<string>();
  expectTypeOf(info.sequence).is<number>();
  log.info(input, { attempt });
  // @ts-expect-error an activity has no ctx.run
  context.run(charge, { id: 1 });
});
activity("inferred", (_: undefined, { signal }) => {
  expectTypeOf(signal).is<AbortSignal>();
});

// Only activities can be run.
const child = orchestration("child", async () => 1);
// @ts-expect-error an orchestration is called, not run
ctx.run(child);
// @ts-expect-error a plain function has no name to find it by
ctx.run(async () => 1);
