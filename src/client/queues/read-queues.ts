// Queues as an operator sees them: one row per activity name, with its figures, its limits and its pause.
//   - A queue exists for every name: without tasks all its figures are 0.
//   - The parts of a row are read one after the other, so they can differ by the work of a moment.

import { unclaimedReason, type RegisteredWork } from "../../core/define/work-matching.ts";
import { parseName } from "../../core/ids/ids.ts";
import type { QueueRecord } from "../../core/provider/admin.ts";
import type {
  QueueFigures,
  QueueKeyFigures,
  QueueOutcomes,
  QueueRule,
  QueueState,
} from "../../core/provider/queues.ts";
import { defined } from "../../core/values/defined.ts";
import { liveWork } from "../inspect/unclaimed.ts";
import type { Store } from "../store.ts";

/** The tasks of a queue that have the same tags and the same priority. */
export interface QueueKind extends Omit<QueueRecord, "name"> {
  /** Why no live runtime accepts these tasks. Absent: one does. */
  readonly unclaimed?: string;
}
/** Since when a queue is paused, and why. */
export interface QueuePause {
  readonly reason?: string;
  /** The person or system that paused the queue. */
  readonly by?: string;
  readonly at: Date;
}
/** A queue: the tasks of one activity. */
export interface QueueInfo {
  /** The name of the activity. */
  readonly name: string;
  /** Due tasks that no worker holds. */
  readonly depth: number;
  readonly running: number;
  /** Tasks that are due later: retries, tasks that a call from outside completes, and jobs that begin later. */
  readonly delayed: number;
  /** For how long the oldest due task has waited. Null: none waits. */
  readonly oldestAgeMs: number | null;
  /** Completed tasks per second, over the last minute. */
  readonly rate: number;
  /** Jobs of this name that failed and are still stored. */
  readonly failures: number;
  /** Attempts that ended in the last minute. `failed`: final failures. */
  readonly recent: Omit<QueueOutcomes, "name">;
  /** Null: not paused. */
  readonly paused: QueuePause | null;
  /** Null: neither limits nor fair order. */
  readonly limit: QueueRule | null;
  /** Why no live runtime accepts some of the waiting tasks; `kinds` shows which. Absent: all have a runtime. */
  readonly unclaimed?: string;
  /** The tasks by tags and priority. */
  readonly kinds: readonly QueueKind[];
}
/** A queue with the keys that have the most waiting tasks. */
export interface QueueDetail extends QueueInfo {
  /** At most 20, most waiting tasks first. */
  readonly topKeys: readonly QueueKeyFigures[];
}

const TOP_KEYS_MAX = 20;
const RECENT_SECONDS = 60;

export async function readQueues(store: Store): Promise<readonly QueueInfo[]> {
  const sources = await readSources(store);
  const figures = await store.read((provider) => provider.readQueueFigures());
  return figures.map((one) => queueInfo(one, sources));
}

export async function readQueue(store: Store, name: string): Promise<QueueDetail> {
  const queue = parseName(name, "name of the queue");
  const sources = await readSources(store);
  const figures = await store.read((provider) => provider.readQueueFigures());
  const topKeys = await store.read((provider) => provider.readQueueKeys(queue, TOP_KEYS_MAX));
  const found = figures.find((one) => one.name === queue) ?? { ...NO_FIGURES, name: queue };
  return { ...queueInfo(found, sources), topKeys };
}

const NO_FIGURES: Omit<QueueFigures, "name"> = {
  waiting: 0,
  running: 0,
  delayed: 0,
  oldestAvailableAt: null,
  recent: { completed: 0, failed: 0, retried: 0 },
  failedJobs: 0,
};

interface Sources {
  readonly kinds: ReadonlyMap<string, readonly QueueKind[]>;
  readonly states: ReadonlyMap<string, QueueState>;
  readonly now: number;
}

async function readSources(store: Store): Promise<Sources> {
  const works = await liveWork(store);
  const records = await store.read((provider) => provider.readQueues());
  const states = await store.read((provider) => provider.readQueueStates());
  const byName = Map.groupBy(records, ({ name }) => name);
  return {
    kinds: new Map(
      [...byName].map(([name, kinds]) => [name, kinds.map((kind) => kindOf(kind, works))]),
    ),
    states: new Map(states.map((state) => [state.name, state])),
    now: store.provider.now(),
  };
}

function kindOf({ name, ...kind }: QueueRecord, works: readonly RegisteredWork[]): QueueKind {
  const { tags, oldestAvailableAt: oldestAt } = kind;
  if (oldestAt === null) return kind;
  const why = unclaimedReason({ kind: "task", name, tags, oldestAt }, works);
  return why === undefined ? kind : { ...kind, unclaimed: why.message };
}

function queueInfo(figures: QueueFigures, { kinds, states, now }: Sources): QueueInfo {
  const { name, waiting, running, delayed, oldestAvailableAt: oldestAt, recent } = figures;
  const state = states.get(name);
  const own = kinds.get(name) ?? [];
  return {
    name,
    depth: waiting,
    running,
    delayed,
    oldestAgeMs: oldestAt === null ? null : Math.max(0, now - oldestAt),
    rate: recent.completed / RECENT_SECONDS,
    failures: figures.failedJobs,
    recent,
    paused: pauseOf(state?.paused ?? null),
    limit: state?.rule ?? null,
    ...defined({ unclaimed: own.find(({ unclaimed }) => unclaimed !== undefined)?.unclaimed }),
    kinds: own,
  };
}

/** The text that `pauseQueue` wrote. */
function pauseOf(info: string | null): QueuePause | null {
  if (info === null) return null;
  const { at, ...why } = JSON.parse(info) as { reason?: string; by?: string; at: number };
  return { ...why, at: new Date(at) };
}
