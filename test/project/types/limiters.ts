// Limiters: `run` returns a task with the return type of the work.

import { orchestration, type Task } from "perdure";
import { limiter, type Limiter } from "perdure/limiter";
import { expectTypeOf } from "../../support/expect-type.ts";

const model = limiter("model", { concurrency: 10, rate: { count: 500, per: "1m" } });
expectTypeOf(model).is<Limiter>();

orchestration("passes", async (ctx, tenant: string) => {
  expectTypeOf(model.run(ctx, () => 5)).is<Task<number>>();
  expectTypeOf(model.run(ctx, async () => "text", { key: tenant, timeout: "5m" })).is<
    Task<string>
  >();
  const raced = await ctx.race({ passed: model.run(ctx, () => 5), late: ctx.sleep("1m") });
  if (raced.key === "passed") expectTypeOf(raced.value).is<number>();
  // @ts-expect-error the work must be a function
  model.run(ctx, ctx.sleep("1s"));
  // @ts-expect-error an unknown option
  model.run(ctx, () => 5, { wait: "1s" });
});

// @ts-expect-error an unknown option
limiter("a", { atOnce: 5 });
// @ts-expect-error a rate must have a period
limiter("b", { rate: { count: 5 } });
