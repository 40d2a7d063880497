// Next moment of progress: reads from the store to which moment virtual time should move next, if any.
//   - The answer comes from the store, not from the clock's timers: a runtime always has a timer running.
//   - Work that is due but not done yet (the store is unavailable, a wake-up was lost) needs small steps of
//        time.

import type { Client } from "../../client/client.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { decodeHistory } from "../../core/history/rows.ts";
import { JOB_VERSION } from "../../core/ids/semver.ts";
import type { ListedInstance, Provider, TaskRecord } from "../../core/provider/index.ts";
import type { ActivityMocks } from "./activity-mocks.ts";
import type { TestClock } from "./test-clock.ts";

/** Whether any instance can still make progress, and when. */
export interface NextProgress {
  /** The earliest scheduled time (timer, retry, scripted action), or null. */
  readonly at: number | null;
  /**
   * Whether progress is possible earlier, at the clock's next timer. The caller limits how often it tries
   * "maybe".
   */
  readonly soon: "no" | "maybe" | "surely";
}

export interface NextProgressOptions {
  readonly store: Provider;
  readonly clock: TestClock;
  readonly mocks: ActivityMocks;
  /** The names and versions that the runtime registers. */
  readonly registered: () => {
    readonly activities: readonly string[];
    readonly orchestrations: Readonly<Record<string, readonly string[]>>;
  };
  /** The time of the next scripted action, or null. */
  readonly scriptedAt: () => number | null;
}

const PAGE = 500;

/** Reads all live instances and returns when the next one can make progress. */
export async function nextProgress(options: NextProgressOptions): Promise<NextProgress> {
  const { store, clock } = options;
  const scripted = options.scriptedAt();
  const times = scripted === null ? [] : [scripted];
  let isDue = false;
  let isTimed = clock.busy.hasIdle;
  for await (const record of liveInstances(store)) {
    if (record.paused !== null || record.blocked !== null) continue;
    const now = store.now();
    for (const task of await store.readTasks(record)) {
      if (!options.registered().activities.includes(task.name)) continue;
      if (task.availableAt > now) times.push(task.availableAt);
      else if (!options.mocks.isRunning(record.id, task.name)) isDue = true;
      else isTimed ||= await hasTimeout(record, task, store);
    }
    if (!isRegistered(record, options)) continue;
    for (const { visibleAt } of await store.readInbox(record.key)) {
      if (visibleAt > now) times.push(visibleAt);
      else isDue = true;
    }
    const step = await openStep(record, store);
    isDue ||= step !== null;
    isTimed ||= step?.timeoutMs !== undefined;
  }
  return {
    at: times.length === 0 ? null : Math.min(...times),
    soon: isTimed ? "surely" : isDue ? "maybe" : "no",
  };
}

/** A text that changes whenever an instance makes progress. */
export async function progress(client: Client, store: Provider): Promise<string> {
  const { instances, executions, events, dueMessages } = await client.metrics();
  const tasks = await Promise.all(
    (await Array.fromAsync(liveInstances(store))).map((record) => store.readTasks(record)),
  );
  return JSON.stringify([instances, executions, events, dueMessages, tasks]);
}

async function* liveInstances(store: Provider): AsyncGenerator<ListedInstance> {
  const filter = { status: ["pending", "running", "paused"] } as const;
  let cursor: string | null = null;
  do {
    const page = await store.listInstances({ filter, order: "oldest", limit: PAGE, cursor });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== null);
}

function isRegistered({ name, version }: ListedInstance, options: NextProgressOptions): boolean {
  const { activities, orchestrations } = options.registered();
  if (version === JOB_VERSION) return activities.includes(name);
  const versions = Object.hasOwn(orchestrations, name) ? (orchestrations[name] ?? []) : [];
  return version === null ? versions.length > 0 : versions.includes(version);
}

/** Whether the activity has a timeout: then the timeout ends a run that does not end by itself. */
async function hasTimeout(
  record: ListedInstance,
  task: TaskRecord,
  store: Provider,
): Promise<boolean> {
  const scheduled = (await eventsOf(record, store))[task.sequence - 1];
  if (scheduled?.kind !== "ActivityScheduled") return false;
  return scheduled.timeoutMs !== undefined || scheduled.heartbeatTimeoutMs !== undefined;
}

/** Returns a step that is running or about to run, or null. */
async function openStep(
  record: ListedInstance,
  store: Provider,
): Promise<{ readonly timeoutMs?: number } | null> {
  const open = new Map<number, { readonly timeoutMs?: number }>();
  for (const event of await eventsOf(record, store)) {
    if (event.kind === "StepScheduled") open.set(event.sequence, event);
    if ("scheduled" in event && event.kind !== "StepAttemptFailed") open.delete(event.scheduled);
  }
  return open.values().next().value ?? null;
}

async function eventsOf(
  { key, execution }: ListedInstance,
  store: Provider,
): Promise<readonly HistoryEvent[]> {
  return decodeHistory(await store.readHistory({ key, execution }));
}
