// Gates: what the work returns is what the passage is, a task.

import { orchestration, type Task } from "perdure";
import { gate, type Gate } from "perdure/gate";
import { expectTypeOf } from "../support/expect-type.ts";

const model = gate("model", { atOnce: 10, rate: { count: 500, per: "1m" } });
expectTypeOf(model).is<Gate>();

orchestration("passes", async (ctx, tenant: string) => {
  expectTypeOf(model.run(ctx, () => 5)).is<Task<number>>();
  expectTypeOf(model.run(ctx, async () => "text", { key: tenant, wait: "5m" })).is<Task<string>>();
  const raced = await ctx.race({ passed: model.run(ctx, () => 5), late: ctx.sleep("1m") });
  if (raced.key === "passed") expectTypeOf(raced.value).is<number>();
  // @ts-expect-error the work is a function
  model.run(ctx, ctx.sleep("1s"));
  // @ts-expect-error there is no such option
  model.run(ctx, () => 5, { timeout: "1s" });
});

// @ts-expect-error there is no such option
gate("a", { concurrency: 5 });
// @ts-expect-error a rate has a time
gate("b", { rate: { count: 5 } });
