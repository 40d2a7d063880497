// What can still happen by itself: when virtual time should move, and whether it would be in vain.
//   CH1. The store is asked, not the clock: a runtime always has a timer running, which says nothing.
//   CH2. What is due and not done yet (a store in trouble, a lost wake-up) is waited for by small steps.

import type { Client } from "../../client/client.ts";
import type { HistoryEvent } from "../../core/history-events.ts";
import { decodeHistory } from "../../core/history-row.ts";
import type { ListedInstance, Provider, TaskRecord } from "../../core/provider/index.ts";
import type { ActivityMocks } from "./activity-mocks.ts";
import type { TestClock } from "./test-clock.ts";

/** What can still happen to anybody, and when. */
export interface Chance {
  /** The first moment for which something is scheduled, or null. */
  readonly at: number | null;
  /** Whether something may happen before: at whatever the next timer is. "maybe" is bounded by whoever waits. */
  readonly soon: "no" | "maybe" | "surely";
}

export interface ChanceOptions {
  readonly store: Provider;
  readonly clock: TestClock;
  readonly mocks: ActivityMocks;
  /** What the runtime registers. */
  readonly registered: () => {
    readonly activities: readonly string[];
    readonly orchestrations: Readonly<Record<string, readonly string[]>>;
  };
  /** When the next scripted action comes, or null. */
  readonly scriptedAt: () => number | null;
}

const PAGE = 500;

/** The next thing that can happen to anybody. */
export async function nextChance(options: ChanceOptions): Promise<Chance> {
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

/** How many things happened so far: as long as it stands, nothing did. */
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

function isRegistered({ name, version }: ListedInstance, options: ChanceOptions): boolean {
  const { orchestrations } = options.registered();
  const versions = Object.hasOwn(orchestrations, name) ? (orchestrations[name] ?? []) : [];
  return version === null ? versions.length > 0 : versions.includes(version);
}

/** A function that does not end by itself ends when its time is over, if it has one. */
async function hasTimeout(
  record: ListedInstance,
  task: TaskRecord,
  store: Provider,
): Promise<boolean> {
  const scheduled = (await eventsOf(record, store))[task.sequence - 1];
  if (scheduled?.kind !== "ActivityScheduled") return false;
  return scheduled.timeoutMs !== undefined || scheduled.heartbeatTimeoutMs !== undefined;
}

/** A step that is under way, or about to be entered. */
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
