// Converts repairs and the reports of rewinds to JSON.

import type * as v from "valibot";
import type { RepairInfo } from "../../client/inspect/instance-info.ts";
import type { RewindReport, RewoundInstance } from "../../client/repair/rewind.ts";
import type { repair, rewindReport } from "../schemas/repair.ts";

type ReportShape = v.InferInput<typeof rewindReport>;

export function repairToHttp({ at, replaced, ...rest }: RepairInfo): v.InferInput<typeof repair> {
  const time = { ...rest, at: at.toISOString() };
  return replaced === undefined ? time : { ...time, replaced: [...replaced] };
}

export function rewindToHttp({ dryRun, others, ...own }: RewindReport): ReportShape {
  return { ...rewoundToHttp(own), dryRun, others: others.map(rewoundToHttp) };
}

function rewoundToHttp(rewound: RewoundInstance): ReportShape["others"][number] {
  const { kept, redone, happened, compensated, returned, ...rest } = rewound;
  return {
    ...rest,
    kept: [...kept],
    redone: [...redone],
    happened: [...happened],
    compensated: [...compensated],
    returned: [...returned],
  };
}
