// all, allSettled, any, race: their value types are inferred from the branches, by index or by key.

import {
  activity,
  orchestration,
  type Branch,
  type OrchestrationContext,
  type Task,
} from "perdure";
import { expectTypeOf } from "../../support/expect-type.ts";

declare const ctx: OrchestrationContext;
const count = activity("count", async (text: string) => text.length);
const shout = activity("shout", async (text: string) => text.toUpperCase());
const child = orchestration("child", async (_, n: number) => ({ n }));

// all: a tuple gives a tuple, a list gives a list; a function counts as its return type.
expectTypeOf(await ctx.all([ctx.run(count, "a"), ctx.run(shout, "a"), ctx.sleep("1s")])).is<
  [number, string, void]
>();
expectTypeOf(await ctx.all(["a", "b"].map((text) => ctx.run(count, text)))).is<number[]>();
expectTypeOf(
  await ctx.all([() => ctx.run(count, "a"), async () => "text", () => 7, ctx.call(child, 1)]),
).is<[number, string, number, { n: number }]>();
expectTypeOf(await ctx.all([])).is<[]>();

// allSettled: the same, with settled results.
expectTypeOf(await ctx.allSettled([ctx.run(count, "a"), ctx.run(shout, "a")])).is<
  [PromiseSettledResult<number>, PromiseSettledResult<string>]
>();

// any: the value of one branch.
expectTypeOf(await ctx.any([ctx.run(count, "a"), ctx.run(shout, "a")])).is<number | string>();

// race by key: the key determines the type of the value.
const raced = await ctx.race({
  counted: ctx.run(count, "a"),
  shouted: () => ctx.run(shout, "a"),
  late: ctx.sleep("2d"),
});
expectTypeOf(raced.key).is<"counted" | "shouted" | "late">();
if (raced.key === "counted") expectTypeOf(raced.value).is<number>();
if (raced.key === "shouted") expectTypeOf(raced.value).is<string>();
if (raced.key === "late") expectTypeOf(raced.value).is<void>();
// @ts-expect-error no such branch
if (raced.key === "lost") raced.value;

// race over a list: the index narrows the value; a list of unknown length has any index.
const indexed = await ctx.race([ctx.run(count, "a"), ctx.run(shout, "a")]);
expectTypeOf(indexed.index).is<0 | 1>();
expectTypeOf(indexed.value).is<number | string>();
if (indexed.index === 0) expectTypeOf(indexed.value).is<number>();
if (indexed.index === 1) expectTypeOf(indexed.value).is<string>();
declare const many: Task<number>[];
const first = await ctx.race(many);
expectTypeOf(first.index).is<number>();
expectTypeOf(first.value).is<number>();

// Promise.all accepts tasks, because tasks are promises.
expectTypeOf(await Promise.all([ctx.run(count, "a"), ctx.run(shout, "a")])).is<[number, string]>();

// Only cancellable branches are allowed in race and any.
// @ts-expect-error a plain promise
ctx.race({ bare: Promise.resolve(1) });
// @ts-expect-error a plain promise
ctx.any([Promise.resolve(1)]);
// @ts-expect-error a value
ctx.race([1]);

// Tasks can be cancelled by `cancel()` and by `using`, and mapped.
const task: Task<number> = ctx.run(count, "a");
task.cancel();
task.cancel("not needed");
const mapped: Branch<string> = task.map((n) => `${n}`);
ctx.race({ mapped });
orchestration("using", async ({ run }) => {
  using open = run(count, "a");
  return open;
});
