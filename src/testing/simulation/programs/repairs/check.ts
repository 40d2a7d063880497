// Checks of repair jobs (C18): every job and every fork has completed with its exact result.

import { defaultCodec } from "../../../../core/values/codec.ts";
import type { EndOfRun } from "../../world/workload.ts";
import { mix } from "../expected.ts";
import type { RepairScript } from "./script.ts";
import type { RepairCall, RepairJob, RepairStage } from "./plan.ts";

export function checkRepair(
  job: RepairJob,
  { givenUp }: Pick<RepairScript, "givenUp">,
  end: EndOfRun,
): void {
  const values = new Map(job.raises.map(({ name, value }) => [name, value]));
  const expected = JSON.stringify(resultOf(job.input.stages, values));
  for (const id of [job.id, ...(job.forks ? [`${job.id}.fork`] : [])]) {
    if (givenUp.has(id)) continue;
    const record = end.instances.get(id)?.record;
    if (record === undefined) end.report(`${id} does not exist`);
    else if (record.status !== "completed") end.report(`${id} was not repaired: ${record.status}`);
    else {
      const result = JSON.stringify(defaultCodec.decode(record.output ?? "null"));
      if (result !== expected) end.report(`${id} ended with ${result}; expected ${expected}`);
    }
  }
}

function resultOf(
  stages: readonly RepairStage[],
  values: ReadonlyMap<string, number>,
): readonly unknown[] {
  const valueOf = (call: RepairCall): unknown => {
    switch (call.op) {
      case "event":
        return values.get(call.name);
      case "sleep":
        return "slept";
      case "child":
        return resultOf(call.stages, values);
      default:
        return mix(call.salt);
    }
  };
  return stages.map(({ calls }) => calls.map(valueOf));
}
