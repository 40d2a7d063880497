// Who can take what waits, worked out from what the live runtimes say of themselves (semantics 14).
//   CL1. Nothing about it is stored: a runtime that comes or goes changes the answer at once.

import type { WaitingRecord } from "./provider/admin.ts";
import type { RuntimeRecord } from "./provider/runtimes.ts";
import type { TagFilter } from "./provider/tasks.ts";
import { acceptsTags } from "./tags.ts";
import { parseTarget, type ReplayVersions } from "./targets.ts";

/** What a runtime writes about itself when it registers. */
export interface RegisteredWork {
  readonly activities: readonly string[];
  readonly orchestrations: Readonly<Record<string, readonly string[]>>;
  readonly tags: TagFilter;
  readonly replayVersions: ReplayVersions;
}

/** What that runtime registers; undefined when its word cannot be read. */
export function registeredWork(runtime: RuntimeRecord): RegisteredWork | undefined {
  try {
    const { activities, orchestrations, tags, replayVersions } = JSON.parse(
      runtime.registered,
    ) as Partial<RegisteredWork>;
    if (!Array.isArray(activities) || orchestrations === undefined) return undefined;
    return {
      activities,
      orchestrations,
      tags: tags ?? "untagged",
      replayVersions: replayVersions ?? { min: 1, max: 1 },
    };
  } catch {
    return undefined;
  }
}

export interface Nobody {
  readonly code: "unregistered" | "tags" | "replayVersion";
  /** For people. */
  readonly message: string;
}

/** Why no live runtime can take this kind of work; undefined: one can. */
export function whyNobody(
  waiting: WaitingRecord,
  runtimes: readonly RegisteredWork[],
): Nobody | undefined {
  return waiting.kind === "task"
    ? whyNoTask(waiting.name, waiting.tags, runtimes)
    : whyNoInstance(waiting.target, runtimes);
}

function whyNoTask(
  name: string,
  tags: readonly string[],
  runtimes: readonly RegisteredWork[],
): Nobody | undefined {
  const registering = runtimes.filter(({ activities }) => activities.includes(name));
  if (registering.length === 0) return unregistered(`activity "${name}"`);
  if (registering.some((runtime) => acceptsTags(runtime.tags, tags))) return undefined;
  const message =
    tags.length === 0
      ? `every live runtime that registers activity "${name}" takes tagged tasks only`
      : `no live runtime that registers activity "${name}" has the tags ${tags.join(", ")}`;
  return { code: "tags", message };
}

function whyNoInstance(target: string, runtimes: readonly RegisteredWork[]): Nobody | undefined {
  const { name, version, replayVersion } = parseTarget(target);
  const registering = runtimes.filter(({ orchestrations }) => Object.hasOwn(orchestrations, name));
  if (registering.length === 0) return unregistered(`orchestration "${name}"`);
  if (version === null) return undefined;
  const pinned = registering.filter(({ orchestrations }) =>
    orchestrations[name]?.includes(version),
  );
  if (pinned.length === 0) return unregistered(`version ${version} of orchestration "${name}"`);
  const isSupported = ({ replayVersions: { min, max } }: RegisteredWork): boolean =>
    min <= replayVersion && replayVersion <= max;
  if (pinned.some(isSupported)) return undefined;
  const message = `no live runtime replays histories of version ${replayVersion}, which "${name}" has`;
  return { code: "replayVersion", message };
}

function unregistered(what: string): Nobody {
  return { code: "unregistered", message: `no running worker registers ${what}` };
}
