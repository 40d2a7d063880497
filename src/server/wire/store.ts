// Converts metrics, kept events and runtimes to JSON.

import type * as v from "valibot";
import type { RuntimeInfo } from "../../client/admin.ts";
import type { KeptPage } from "../../client/inspect/kept.ts";
import type { Metrics } from "../../client/inspect/unclaimed.ts";
import { defined } from "../../core/values/defined.ts";
import type { keptPage, metrics, runtime } from "../schemas/store.ts";
import { toHttp } from "../views/values.ts";
import { member } from "./instance.ts";

/** The longest default `staleMs` of a runtime. A runtime without a heartbeat for longer counts as dead. */
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
      return { ...others, since, ...defined({ version }) };
    }),
  };
}

export function keptToHttp({ items, cursor }: KeptPage): v.InferInput<typeof keptPage> {
  return {
    items: items.map(({ data, createdAt, expiresAt, ...rest }) => ({
      ...rest,
      ...member("data", toHttp(data)),
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
    })),
    ...defined({ cursor }),
  };
}

export function runtimeToHttp(found: RuntimeInfo, now: number): v.InferInput<typeof runtime> {
  const { pid, registered, note, startedAt, lastBeatAt, ...rest } = found;
  return {
    ...rest,
    ...defined({ pid }),
    alive: now - lastBeatAt.getTime() < ALIVE_MS,
    startedAt: startedAt.toISOString(),
    lastBeatAt: lastBeatAt.toISOString(),
    ...defined({ note, registered: registered && registeredToHttp(registered) }),
  };
}

type Registered = NonNullable<RuntimeInfo["registered"]>;
type RegisteredShape = NonNullable<v.InferInput<typeof runtime>["registered"]>;

function registeredToHttp(registered: Registered): RegisteredShape {
  const { activities, orchestrations, roles = {}, tags, replayVersions } = registered;
  return {
    activities: [...activities],
    orchestrations: Object.entries(orchestrations).map(([name, versions]) => ({
      name,
      versions: [...versions],
      ...(Object.hasOwn(roles, name) ? defined({ role: roles[name] }) : {}),
    })),
    tags: typeof tags === "string" ? tags : { tags: [...tags.tags], untagged: tags.untagged },
    replayVersions: { min: replayVersions.min, max: replayVersions.max },
  };
}
