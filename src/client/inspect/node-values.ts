// The values of a flow's nodes, computed by the flow's interpreter: replays an execution's history in the
// client. The replay schedules nothing and writes nothing.

import { drain } from "../../core/context/async-context.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import type { Environment } from "../../core/time/environment.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { orchestrationMain } from "../../core/replay/orchestration-main.ts";
import type { InstanceRecord } from "../../core/provider/index.ts";
import { Run } from "../../core/replay/run.ts";
import type { Store } from "../store.ts";

/** Values by node path, in the order in which the nodes ended. */
export async function nodeValues(options: {
  readonly store: Store;
  readonly definition: Orchestration<never, unknown>;
  readonly record: InstanceRecord;
  readonly execution: number;
  readonly events: readonly HistoryEvent[];
}): Promise<ReadonlyMap<string, unknown>> {
  const { store, definition, record, execution } = options;
  const { environment } = store.provider;
  const values = new Map<string, unknown>();
  const run = new Run({
    instanceId: record.id,
    execution,
    version: definition.version,
    priority: record.priority,
    codec: store.codec,
    main: orchestrationMain(definition),
    history: options.events,
    onNodeEnd: (node, value) => {
      values.delete(node); // A node that ends again moves to the end.
      values.set(node, value);
    },
  });
  while (run.hasMoreHistory) {
    await drained(environment, run, () => run.replayNext());
    while (run.endDrain() === "again") await drained(environment, run, () => run.lateRejection());
  }
  if (run.blocked === null) return values;
  const message = `Instance "${record.id}" cannot be replayed: ${run.blocked.message}`;
  throw new PerdureError("HISTORY_CORRUPT", message);
}

/** Delivers in one macrotask; the next macrotask ends the drain (pump.1). */
function drained(environment: Environment, run: Run, step: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    environment.immediate(() => {
      drain.run = run;
      try {
        step();
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    environment.immediate(() => {
      drain.run = null;
      resolve();
    });
  });
}
