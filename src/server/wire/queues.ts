// Converts queues to JSON.

import type * as v from "valibot";
import type { QueueDetail, QueueInfo, QueueKind } from "../../client/queues/read-queues.ts";
import { defined } from "../../core/values/defined.ts";
import type { queue, queueDetail } from "../schemas/queues.ts";
import { timeText } from "./history.ts";

type QueueShape = v.InferInput<typeof queue>;

export function queueToHttp(found: QueueInfo): QueueShape {
  const { name, depth, running, delayed, rate, failures, recent, unclaimed, kinds } = found;
  const { paused, limit, oldestAgeMs } = found;
  return {
    name,
    depth,
    running,
    delayed,
    ...(oldestAgeMs === null ? {} : { oldestAgeMs }),
    rate,
    failures,
    recent: { ...recent },
    ...(paused === null ? {} : { paused: { ...paused, at: paused.at.toISOString() } }),
    ...(limit === null ? {} : { limit: { ...limit } }),
    ...defined({ unclaimed }),
    kinds: kinds.map(kindToHttp),
  };
}

export function queueDetailToHttp(found: QueueDetail): v.InferInput<typeof queueDetail> {
  return { ...queueToHttp(found), topKeys: found.topKeys.map((each) => ({ ...each })) };
}

function kindToHttp(kind: QueueKind): QueueShape["kinds"][number] {
  const { oldestAvailableAt, tags, ...rest } = kind;
  return {
    ...rest,
    tags: [...tags],
    ...(oldestAvailableAt === null ? {} : { oldestAvailableAt: timeText(oldestAvailableAt) }),
  };
}
