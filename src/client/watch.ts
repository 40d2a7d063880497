// Watching an instance: its states as they come, pushed.
//   WA1. The last state always arrives; intermediate ones may be skipped when the watcher is slow.
//   WA2. A state is told once: two that look the same are one.
//   WA3. The iteration ends with the instance's end; a restart or continueAsNew is not an end.

import { isTerminalStatus, type InstanceRecord } from "../core/provider/index.ts";
import { Changes } from "./changes.ts";
import type { InstanceInfo } from "./instance-info.ts";
import type { Store } from "./store.ts";

export async function* watchInstance(
  store: Store,
  id: string,
  describe: (record: InstanceRecord) => Promise<InstanceInfo>,
): AsyncGenerator<InstanceInfo, void, undefined> {
  let told = "";
  for (;;) {
    // Waiting begins before looking, so that no change falls in between.
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    const unwatch = Changes.of(store.provider).watch(id, resolve);
    try {
      const record = await store.record(id);
      const state = visibleState(record);
      if (state !== told) {
        told = state;
        yield await describe(record);
      }
      if (isTerminalStatus(record.status)) return;
      await woken;
    } finally {
      unwatch();
    }
  }
}

/** What a watcher can see of a record. */
function visibleState(record: InstanceRecord): string {
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
  ]);
}
