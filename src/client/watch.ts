// Watching an instance: its states as they come, pushed.
//   WA1. The last state always arrives; intermediate ones may be skipped when the watcher is slow.
//   WA5. Turns of this process are pushed; those of another, when they change nothing but what it waits for, are seen
//        by the safety net's look.
//   WA2. A state is told once: two that look the same are one.
//   WA3. The iteration ends with the instance's end; a restart or continueAsNew is not an end.
//   WA4. It ends with its signal at once, by throwing the reason: a watcher of a silent instance can go.

import { isTerminalStatus, type InstanceRecord, type TaskRecord } from "../core/provider/index.ts";
import { Changes } from "./changes.ts";
import { describeRecord } from "./describe.ts";
import type { InstanceInfo } from "./instance-info.ts";
import type { Store } from "./store.ts";

export async function* watchInstance(
  store: Store,
  id: string,
  signal?: AbortSignal,
): AsyncGenerator<InstanceInfo, void, undefined> {
  let told = "";
  let key: number | null = null;
  for (;;) {
    signal?.throwIfAborted();
    // Waiting begins before looking, so that no change falls in between.
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    const unwatch = Changes.of(store.provider).watch(id, resolve);
    const unwatchTurns = key === null ? null : store.committer.watchTurns(key, resolve);
    const onAbort = (): void => resolve();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const record = await store.record(id);
      const tasks = await tasksOf(store, record);
      const state = visibleState(record, tasks);
      if (state !== told) {
        told = state;
        yield await describeRecord(store, record, tasks);
      }
      if (isTerminalStatus(record.status)) return;
      // Until its number is known its turns are not heard of: then there is another look.
      if (key === record.key) await woken;
      key = record.key;
    } finally {
      unwatch();
      unwatchTurns?.();
      signal?.removeEventListener("abort", onAbort);
    }
  }
}

async function tasksOf(store: Store, record: InstanceRecord): Promise<readonly TaskRecord[]> {
  const { key, execution, status } = record;
  if (isTerminalStatus(status)) return [];
  return store.read((provider) => provider.readTasks({ key, execution }));
}

/** What a watcher can see of an instance and is pushed. */
function visibleState(record: InstanceRecord, tasks: readonly TaskRecord[]): string {
  const { status, execution, customStatusVersion, blocked, paused, cancelRequested } = record;
  const { lastEvent, attributes } = record;
  return JSON.stringify([
    status,
    execution,
    lastEvent,
    customStatusVersion,
    blocked,
    paused,
    cancelRequested,
    attributes,
    tasks.flatMap((task) => (task.progress === null ? [] : [task.sequence, task.progress])),
  ]);
}
