// The code of repair jobs. A call fails as often as its plan says, counted by its idempotency key: a repair that draws
// a new key for a call that is done again makes it fail more often.

import type { OrchestrationContext } from "../../../../core/context/types.ts";
import { activity, orchestration } from "../../../../core/define/definitions.ts";
import type { Definition } from "../../../../core/define/registrable.ts";
import { isPerdureError } from "../../../../core/errors/errors.ts";
import { NonRetryableError } from "../../../../core/errors/retry-errors.ts";
import type { SimulatedProcess } from "../../world/machine.ts";
import { mix } from "../expected.ts";
import type { StageOptions } from "../interpreter.ts";
import type { RepairCall, RepairInput, RepairStage } from "./plan.ts";

export const REPAIRED = "repaired";
const FRAGILE = "fragile";

/** How often each key has run, in all processes. */
export class Fragility {
  readonly #runs = new Map<string, number>();

  /** Throws if the call must still fail. */
  enter(key: string, fails: number): void {
    const runs = (this.#runs.get(key) ?? 0) + 1;
    this.#runs.set(key, runs);
    if (runs <= fails) throw new NonRetryableError(`fragile: run ${runs} of ${key}`);
  }
}

type Fragile = Extract<RepairCall, { readonly salt: number }>;

export function repairDefinitions(
  process: SimulatedProcess,
  fragility: Fragility,
  recordStep: StageOptions["recordStep"],
): readonly Definition[] {
  const fragile = activity(FRAGILE, async ({ salt, ms, fails }: Fragile, { idempotencyKey }) => {
    await process.sleep(ms);
    fragility.enter(idempotencyKey, fails);
    return mix(salt);
  });
  const step = (ctx: OrchestrationContext, { salt, ms, fails }: Fragile): Promise<unknown> => {
    const name = `fragile-${salt}`;
    const instance = ctx.info.instanceId;
    return ctx.step(name, ({ attempt, idempotencyKey: key }) =>
      recordStep({ name, instance, key, attempt }, async () => {
        await process.sleep(ms);
        fragility.enter(key, fails);
        return mix(salt);
      }),
    );
  };
  const call = (ctx: OrchestrationContext, each: RepairCall): Promise<unknown> => {
    switch (each.op) {
      case "work":
        return ctx.run(FRAGILE, each);
      case "step":
        return step(ctx, each);
      case "event":
        return ctx.waitFor(each.name);
      case "sleep":
        return ctx.sleep(each.ms).then(() => "slept");
      case "child":
        return ctx.call(REPAIRED, { stages: each.stages, perExecution: null });
    }
  };
  const run = async (ctx: OrchestrationContext, stage: RepairStage): Promise<unknown> => {
    if (stage.how === "all") return ctx.all(stage.calls.map((each) => () => call(ctx, each)));
    const results = await Promise.allSettled(stage.calls.map((each) => call(ctx, each)));
    const reasons = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    const cancelled = reasons.find((reason) => isPerdureError(reason, "CANCELLED"));
    if (reasons.length > 0) throw cancelled ?? reasons[0];
    return results.map((each) => (each.status === "fulfilled" ? each.value : null));
  };
  const repaired = orchestration(
    REPAIRED,
    async (ctx, { stages, perExecution, done = [] }: RepairInput): Promise<unknown> => {
      const values: unknown[] = [...done];
      for (const [index, stage] of stages.entries()) {
        if (index === perExecution) {
          return ctx.continueAsNew({ stages: stages.slice(index), perExecution, done: values });
        }
        values.push(await run(ctx, stage));
      }
      return values;
    },
  );
  return [fragile, repaired];
}
