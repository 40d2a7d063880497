// The values that the nodes of a flow gave, worked out by the interpreter itself: a replay of an execution's history
// beside the engine, which asks for nothing and changes nothing.

import { drain } from "../core/async-context.ts";
import type { Codec } from "../core/codec.ts";
import type { Orchestration } from "../core/definitions.ts";
import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { orchestrationMain } from "../core/orchestration-main.ts";
import type { InstanceRecord } from "../core/provider/index.ts";
import { Run } from "../core/run.ts";

/** By path, in the order in which they ended. */
export async function nodeValues(options: {
  readonly definition: Orchestration<never, unknown>;
  readonly record: InstanceRecord;
  readonly execution: number;
  readonly events: readonly HistoryEvent[];
  readonly codec: Codec;
  readonly environment: Environment;
}): Promise<ReadonlyMap<string, unknown>> {
  const { definition, record, execution, environment } = options;
  const values = new Map<string, unknown>();
  const run = new Run({
    instanceId: record.id,
    execution,
    version: definition.version,
    priority: record.priority,
    codec: options.codec,
    main: orchestrationMain(definition),
    history: options.events,
    onNodeEnd: (node, value) => {
      values.delete(node); // told again: it moves to the end
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

/** A macrotask for the delivery, and one right behind it that ends its drain (PU2). */
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
