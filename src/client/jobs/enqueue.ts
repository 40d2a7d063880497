// Enqueue: writes one job and returns the id of the instance that runs for the call.

import { invalidArgument } from "../../core/checks.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import type { StartItem } from "../../core/provider/commit.ts";
import type { EnqueueKey } from "../../core/provider/enqueue.ts";
import { startThrough } from "../calls/layered.ts";
import { keyReused, type Store } from "../store.ts";
import { localStart, type LocalStart } from "../waiting.ts";
import { enqueueKey } from "./enqueue-key.ts";
import {
  checkEnqueueOptions,
  checkJob,
  checkJobInput,
  idsOf,
  jobMaker,
  type AnyJob,
  type EnqueueOptions,
} from "./job-item.ts";

/** A job that is in the store. */
export interface EnqueuedJob {
  readonly id: string;
  readonly local: LocalStart | null;
}

/** Enqueues the job, through the middleware if there is any. */
export async function enqueueJob(
  store: Store,
  target: AnyJob,
  input: unknown,
  options: EnqueueOptions,
): Promise<EnqueuedJob> {
  const { start: layers } = store.layers;
  if (layers === null) return enqueueInside(store, target, input, options);
  checkEnqueueOptions(options, "client.enqueue");
  const name = checkJob(target, "client.enqueue");
  const go = (changed: unknown, others: EnqueueOptions) =>
    enqueueInside(store, target, changed, others);
  const call = { kind: "enqueue", name, input, options } as const;
  return startThrough(layers, call, go, ({ id }) => [id]);
}

async function enqueueInside(
  store: Store,
  target: AnyJob,
  input: unknown,
  options: EnqueueOptions,
): Promise<EnqueuedJob> {
  checkEnqueueOptions(options, "client.enqueue");
  const name = checkJob(target, "client.enqueue");
  const key = enqueueKey(options, `job "${name}"`);
  checkRequestId(options, key, `job "${name}"`);
  await checkJobInput(target, input);
  const ids = idsOf(store, name, options);
  const write = (traceParent?: string): Promise<EnqueuedJob> => {
    const make = jobMaker(store, target, options, traceParent);
    return writeJob(store, make(store.codec.encode(input), ids), key, options.tx);
  };
  const { telemetry } = store;
  if (telemetry === null) return write();
  return telemetry.start({ orchestration: name, instanceId: ids.id }, write);
}

/** The key decides which calls belong together, so a request id has no meaning beside it. */
export function checkRequestId(
  { requestId }: { readonly requestId?: string | undefined },
  key: EnqueueKey | null,
  what: string,
): void {
  if (key === null || requestId === undefined) return;
  throw invalidArgument(`requestId of ${what} must not be given together with ${key.kind}.`);
}

async function writeJob(
  store: Store,
  item: StartItem,
  key: EnqueueKey | null,
  tx: object | undefined,
): Promise<EnqueuedJob> {
  if (key !== null) return writeKeyed(store, item, key);
  const result =
    tx === undefined ? await store.committer.start(item) : await store.startWithin(tx, item);
  const { id } = item;
  if (result.kind === "started") {
    return { id, local: tx === undefined ? localStart(store, item, result) : null };
  }
  if (result.kind === "existing") return { id, local: null };
  throw result.code === "KEY_REUSED" ? keyReused(id) : exists(result.code, id);
}

async function writeKeyed(store: Store, start: StartItem, key: EnqueueKey): Promise<EnqueuedJob> {
  const result = await store.committer.enqueue({ kind: "enqueue", start, key });
  const { id } = result;
  if (result.kind !== "refused") return { id, local: null };
  const message =
    id === start.id
      ? `Instance "${id}" already exists; choose another id.`
      : `Job "${start.name}" with the unique key "${key.key}" is pending or running already, as instance "${id}".`;
  throw new PerdureError(result.code, message);
}

export function exists(code: "INSTANCE_EXISTS" | "INSTANCE_RUNNING", id: string): PerdureError {
  return new PerdureError(code, `Instance "${id}" already exists; choose another id.`);
}
