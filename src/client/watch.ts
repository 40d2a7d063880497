// Watching an instance: yields its states as they change.
//   - watch.1: The watcher always receives the last state. A slow watcher may miss intermediate states.
//   - A turn or a failed attempt that this process commits notifies the watcher. One of another process that
//        changes only what the instance waits for sends no notification; the periodic read of changes.ts
//        finds it.
//   - Equal consecutive states are yielded once.
//   - The iteration ends when the instance ends. A restart or continueAsNew does not end it.
//   - Aborting the signal ends the iteration at once, also while nothing changes: it throws the signal's
//        reason.

import { isTerminalStatus, type InstanceRecord, type TaskRecord } from "../core/provider/index.ts";
import { Changes } from "./changes.ts";
import { describeRecord } from "./inspect/describe.ts";
import type { InstanceInfo } from "./inspect/instance-info.ts";
import type { Store } from "./store.ts";

export async function* watchInstance(
  store: Store,
  id: string,
  signal?: AbortSignal,
): AsyncGenerator<InstanceInfo, void, undefined> {
  let yielded = "";
  let key: number | null = null;
  for (;;) {
    signal?.throwIfAborted();
    // Subscribe before reading, so that a change between the two is not missed.
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    const unwatch = Changes.of(store.provider).watch(id, resolve);
    const unwatchTurns = key === null ? null : store.committer.watchTurns(key, resolve);
    const onAbort = (): void => resolve();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const record = await store.record(id);
      const tasks = await tasksOf(store, record);
      const state = visibleState(record, tasks);
      if (state !== yielded) {
        yielded = state;
        yield await describeRecord(store, record, tasks);
      }
      if (isTerminalStatus(record.status)) return;
      // Turns can be watched only by the instance's key. After the first read the key is known: read again.
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

/** The parts of an instance whose change yields a new state, as text to compare. */
function visibleState(record: InstanceRecord, tasks: readonly TaskRecord[]): string {
  const { status, execution, lastEvent, customStatusVersion, attributes } = record;
  const { blocked, paused, cancelRequested } = record;
  const position = [status, execution, lastEvent, customStatusVersion];
  const attempts = tasks.flatMap(({ sequence, attempt, progress, isDeferred = false }) =>
    attempt === 0 && progress === null && !isDeferred
      ? []
      : [sequence, attempt, progress, isDeferred],
  );
  return JSON.stringify([position, blocked, paused, cancelRequested, attributes, attempts]);
}
