// Figures, queues and runtimes on their way out.

import type * as v from "valibot";
import type { RuntimeInfo } from "../../client/admin.ts";
import type { Metrics, QueueInfo } from "../../client/unclaimed.ts";
import type { metrics, queue, runtime } from "../schemas/store.ts";
import { timeText } from "./history.ts";

/** The longest stale time that a runtime has by default: whoever was silent for longer is not there. */
const ALIVE_MS = 30_000;

export function metricsToHttp(found: Metrics): v.InferInput<typeof metrics> {
  const { unclaimed, instances, ...rest } = found;
  return {
    ...rest,
    instances: { ...instances },
    unclaimed: unclaimed.map((work) => {
      const since = work.since.toISOString();
      if (work.kind === "activity") return { ...work, since, tags: [...work.tags] };
      const { version, ...others } = work;
      return { ...others, since, ...(version === undefined ? {} : { version }) };
    }),
  };
}

export function queueToHttp(found: QueueInfo): v.InferInput<typeof queue> {
  const { oldestAvailableAt, tags, ...rest } = found;
  return {
    ...rest,
    tags: [...tags],
    ...(oldestAvailableAt === null ? {} : { oldestAvailableAt: timeText(oldestAvailableAt) }),
  };
}

export function runtimeToHttp(found: RuntimeInfo, now: number): v.InferInput<typeof runtime> {
  const { pid, registered, note, startedAt, lastBeatAt, ...rest } = found;
  return {
    ...rest,
    ...(pid === undefined ? {} : { pid }),
    alive: now - lastBeatAt.getTime() < ALIVE_MS,
    ...(registered === undefined ? {} : { registered: registeredToHttp(registered) }),
    startedAt: startedAt.toISOString(),
    lastBeatAt: lastBeatAt.toISOString(),
    ...(note === undefined ? {} : { note }),
  };
}

type Registered = NonNullable<RuntimeInfo["registered"]>;
type RegisteredShape = NonNullable<v.InferInput<typeof runtime>["registered"]>;

function registeredToHttp(registered: Registered): RegisteredShape {
  const { activities, orchestrations, tags, replayVersions } = registered;
  return {
    activities: [...activities],
    orchestrations: Object.entries(orchestrations).map(([name, versions]) => ({
      name,
      versions: [...versions],
    })),
    tags: typeof tags === "string" ? tags : { tags: [...tags.tags], untagged: tags.untagged },
    replayVersions: { min: replayVersions.min, max: replayVersions.max },
  };
}
