// Restart: starts execution n + 1 of an ended instance with the input of execution n (I11).

import { PerdureError } from "../core/errors/errors.ts";
import type { HistoryEvent, OrchestrationStarted } from "../core/history/events.ts";
import type { InstanceRecord } from "../core/provider/index.ts";
import { terminated } from "../core/errors/built-in-failures.ts";
import type { Store } from "./store.ts";

/** `first`: the first event of the execution whose input is used again. */
export async function restartInstance(
  store: Store,
  record: InstanceRecord,
  first: HistoryEvent | undefined,
  requestId: string | null,
): Promise<void> {
  const message = `Instance "${record.id}" has not ended; only an ended instance can be restarted.`;
  if (first?.kind !== "OrchestrationStarted") throw new PerdureError("INSTANCE_RUNNING", message);
  const { environment } = store.provider;
  const runId = environment.randomHex(16);
  const started: OrchestrationStarted = {
    kind: "OrchestrationStarted",
    name: first.name,
    orchestrationVersion: first.orchestrationVersion,
    input: first.input,
    runId,
    seed: environment.randomHex(16),
    // The input was not checked, or the schema refused it: the next execution checks it.
    ...(first.unchecked === true || first.refused !== undefined ? { unchecked: true } : {}),
    ...(Object.keys(record.attributes).length === 0 ? {} : { attributes: record.attributes }),
  };
  const result = await store.committer.start({
    kind: "start",
    id: record.id,
    runId,
    name: record.name,
    version: record.version,
    started: JSON.stringify(started),
    parent: null,
    onParentClose: "cancel",
    priority: record.priority,
    attributes: record.attributes,
    onConflict: "restart",
    requestId,
    terminated: JSON.stringify(terminated("restarted")),
    events: [],
    lease: null,
  });
  if (result.kind === "refused") throw new PerdureError("INSTANCE_RUNNING", message);
}
