// Whether a running worker can take waiting work, computed from the registrations of the running workers
// (semantics 14).
//   - work-matching.1: The result is not stored, so a worker that starts or stops changes it at once.
//   - work-matching.2: A repair call is never reported. It waits for one runtime, which does not list it, and is deleted
//     if that runtime is gone (repair-calls.2).

import type { WaitingRecord } from "../provider/admin.ts";
import type { RuntimeRecord } from "../provider/runtimes.ts";
import type { TagFilter } from "../provider/tasks.ts";
import { acceptsTags } from "../ids/tags.ts";
import { JOB_VERSION } from "../ids/semver.ts";
import type { OrchestrationRole } from "./definitions.ts";
import type { ReplayVersions } from "../history/replay-version.ts";
import { parseTarget } from "../ids/targets.ts";
import { runtimeOfRepairs } from "../repair/repair-calls.ts";
import { defined } from "../values/defined.ts";

/** What a runtime writes to the store when it registers. */
export interface RegisteredWork {
  readonly activities: readonly string[];
  readonly orchestrations: Readonly<Record<string, readonly string[]>>;
  /** Which of the orchestrations are schedules, limiters and entities. Absent: none, or an older version. */
  readonly roles?: Readonly<Record<string, OrchestrationRole>>;
  readonly tags: TagFilter;
  readonly replayVersions: ReplayVersions;
  /** Whether it carries out repairs for clients without its code (core/repair/repair-calls.ts). */
  readonly takesRepairs?: true;
}

/** What that runtime registered; undefined if the stored text cannot be read. */
export function registeredWork(runtime: RuntimeRecord): RegisteredWork | undefined {
  try {
    const { activities, orchestrations, roles, tags, replayVersions, takesRepairs } = JSON.parse(
      runtime.registered,
    ) as Partial<RegisteredWork>;
    if (!Array.isArray(activities) || orchestrations === undefined) return undefined;
    return {
      activities,
      orchestrations,
      ...defined({ roles }),
      tags: tags ?? "untagged",
      replayVersions: replayVersions ?? { min: 1, max: 1 },
      ...(takesRepairs === true ? { takesRepairs } : {}),
    };
  } catch {
    return undefined;
  }
}

export interface UnclaimedReason {
  readonly code: "unregistered" | "tags" | "replayVersion";
  /** The reason as a sentence. */
  readonly message: string;
}

/** Why no running worker can take this kind of work; undefined if a worker can. */
export function unclaimedReason(
  waiting: WaitingRecord,
  runtimes: readonly RegisteredWork[],
): UnclaimedReason | undefined {
  return waiting.kind === "task"
    ? unclaimedTaskReason(waiting.name, waiting.tags, runtimes)
    : unclaimedInstanceReason(waiting.target, runtimes);
}

function unclaimedTaskReason(
  name: string,
  tags: readonly string[],
  runtimes: readonly RegisteredWork[],
): UnclaimedReason | undefined {
  const registering = runtimes.filter(({ activities }) => activities.includes(name));
  if (registering.length === 0) return unregistered(`activity "${name}"`);
  if (registering.some((runtime) => acceptsTags(runtime.tags, tags))) return undefined;
  const message =
    tags.length === 0
      ? `every running worker that registers activity "${name}" accepts tagged tasks only`
      : `no running worker that registers activity "${name}" has the tags ${tags.join(", ")}`;
  return { code: "tags", message };
}

function unclaimedInstanceReason(
  target: string,
  runtimes: readonly RegisteredWork[],
): UnclaimedReason | undefined {
  const { name, version, replayVersion } = parseTarget(target);
  if (runtimeOfRepairs(name) !== null) return undefined; // work-matching.2
  const isJob = version === JOB_VERSION;
  const registering = runtimes.filter(({ activities, orchestrations }) =>
    isJob ? activities.includes(name) : Object.hasOwn(orchestrations, name),
  );
  if (registering.length === 0) {
    return unregistered(`${isJob ? "activity" : "orchestration"} "${name}"`);
  }
  if (version === null) return undefined;
  const pinned = registering.filter(
    ({ orchestrations }) => isJob || orchestrations[name]?.includes(version),
  );
  if (pinned.length === 0) return unregistered(`version ${version} of orchestration "${name}"`);
  const isSupported = ({ replayVersions: { min, max } }: RegisteredWork): boolean =>
    min <= replayVersion && replayVersion <= max;
  if (pinned.some(isSupported)) return undefined;
  const message = `no running worker supports replay version ${replayVersion}, which the history of "${name}" needs`;
  return { code: "replayVersion", message };
}

function unregistered(what: string): UnclaimedReason {
  return { code: "unregistered", message: `no running worker registers ${what}` };
}
