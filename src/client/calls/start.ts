// Start: starts an instance.

import type { Orchestration } from "../../core/define/definitions.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import type { OrchestrationStarted } from "../../core/history/events.ts";
import type { StartItem, StartResult } from "../../core/provider/commit.ts";
import { checkExisting, type Expected } from "../definition-check.ts";
import { checkStart, startItem, type StartOptions } from "../start-item.ts";
import { keyReused, type Store } from "../store.ts";
import { localStart, type LocalStart } from "../waiting.ts";
import { startThrough } from "./layered.ts";

type AnyOrchestration = Orchestration<never, unknown> | string;

/** An instance that is in the store, for a handle. */
export interface StartedInstance {
  readonly id: string;
  readonly expected: Expected;
  readonly local: LocalStart | null;
}

/** Starts the instance, through the middleware if there is any. */
export function startInstance(
  store: Store,
  target: AnyOrchestration,
  input: unknown,
  options: StartOptions,
): Promise<StartedInstance> {
  const { start: layers } = store.layers;
  if (layers === null) return writeStart(store, target, input, options);
  const name = checkStart(target, options);
  const go = (changed: unknown, others: StartOptions): Promise<StartedInstance> =>
    writeStart(store, target, changed, others);
  const call = { kind: "start", name, input, options } as const;
  return startThrough(layers, call, go, ({ id }) => [id]);
}

async function writeStart(
  store: Store,
  target: AnyOrchestration,
  input: unknown,
  options: StartOptions,
): Promise<StartedInstance> {
  const item = await startItem(store, target, input, options);
  const { id } = item;
  const result = await writeObserved(store, item, options.tx);
  const expected: Expected = typeof target === "string" ? null : target;
  if (result.kind === "refused" && result.code === "KEY_REUSED") throw keyReused(id);
  if (result.kind !== "started") await checkExisting(store, id, expected);
  if (result.kind === "refused") {
    const why =
      result.code === "INSTANCE_RUNNING"
        ? "is still running; only an ended instance can be restarted"
        : "already exists; choose another id or an onConflict policy";
    throw new PerdureError(result.code, `Instance "${id}" ${why}.`);
  }
  const local = options.tx === undefined ? localStart(store, item, result) : null;
  return { id, expected, local };
}

/** Writes the start inside a telemetry span and records the span's trace as the instance's trace. */
async function writeObserved(
  store: Store,
  item: StartItem,
  tx: object | undefined,
): Promise<StartResult> {
  const write = (written: StartItem): Promise<StartResult> =>
    tx === undefined ? store.committer.start(written) : store.startWithin(tx, written);
  const { telemetry } = store;
  if (telemetry === null) return write(item);
  const span = { orchestration: item.name, instanceId: item.id };
  return telemetry.start(span, (traceParent) => {
    if (traceParent === undefined) return write(item);
    const started = JSON.parse(item.started) as OrchestrationStarted; // from startItem
    return write({ ...item, started: JSON.stringify({ ...started, traceParent }) });
  });
}
