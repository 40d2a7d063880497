// Cancels, pauses, resumes or restarts the instances of a filter, or sends an event to them.

import { checkMembers, type Members } from "../../core/checks.ts";
import { parseName, parseRequestId } from "../../core/ids/ids.ts";
import { defined } from "../../core/values/defined.ts";
import { Handle, type Why } from "../handle.ts";
import { checkRestart, checkRestartOf, type RestartOptions } from "../repair/restart.ts";
import { checkReason, type RepairOptions } from "../repair/rewind.ts";
import type { Store } from "../store.ts";
import { applyToMany, toEach, type BulkOperation, type BulkReport } from "./apply.ts";
import {
  BULK_OPTIONS,
  bulkFilter,
  checkBulk,
  ENDED,
  LIVE,
  type Applicable,
  type BulkFilter,
  type BulkOptions,
} from "./selection.ts";

/** Options of `client.cancelMany` and `client.pauseMany`. */
export type ControlManyOptions = BulkOptions & RepairOptions;
/** Options of `client.raiseMany`. */
export interface RaiseManyOptions extends BulkOptions {
  /** Repeated calls with the same id raise the event once per instance. */
  readonly requestId?: string;
}
/** Options of `client.restartMany`. */
export type RestartManyOptions = BulkOptions & RestartOptions;

const CONTROL: Members<ControlManyOptions> = { ...BULK_OPTIONS, reason: true, by: true };
const RAISE: Members<RaiseManyOptions> = { ...BULK_OPTIONS, requestId: true };
const RESTART: Members<RestartManyOptions> = {
  ...BULK_OPTIONS,
  reason: true,
  by: true,
  requestId: true,
  input: true,
  version: true,
};

/** The instances that can be paused. */
export const RUNNING: Applicable = { status: ["pending", "running"] };
/** The instances that can be resumed. */
export const PAUSED: Applicable = { status: ["paused"] };

export function cancelMany(
  store: Store,
  filter: BulkFilter,
  options: ControlManyOptions,
): Promise<BulkReport> {
  const what = { name: "client.cancelMany", applicable: LIVE, reason: "cancelled by request" };
  return controlMany(store, filter, options, what, (handle, why) => handle.cancel(why));
}

export function pauseMany(
  store: Store,
  filter: BulkFilter,
  options: ControlManyOptions,
): Promise<BulkReport> {
  const what = { name: "client.pauseMany", applicable: RUNNING, reason: "paused by request" };
  return controlMany(store, filter, options, what, (handle, why) => handle.pause(why));
}

async function controlMany(
  store: Store,
  given: BulkFilter,
  options: ControlManyOptions,
  what: { readonly name: string; readonly applicable: Applicable; readonly reason: string },
  act: (handle: Handle, why: Why) => Promise<void>,
): Promise<BulkReport> {
  checkMembers(options, CONTROL, what.name);
  const { reason = what.reason, by, ...bulk } = options;
  checkBulk(bulk);
  checkReason(options);
  const filter = bulkFilter(given, what.applicable, what.name);
  const why = { reason, ...defined({ by }) };
  const each = toEach((id) => act(new Handle(store, id), why));
  return applyToMany(store, filter, bulk, { apply: each });
}

export async function resumeMany(
  store: Store,
  given: BulkFilter,
  options: BulkOptions,
): Promise<BulkReport> {
  checkMembers(options, BULK_OPTIONS, "client.resumeMany");
  checkBulk(options);
  const filter = bulkFilter(given, PAUSED, "client.resumeMany");
  const each = toEach((id) => new Handle(store, id).resume());
  return applyToMany(store, filter, options, { apply: each });
}

export async function raiseMany(
  store: Store,
  given: BulkFilter,
  event: string,
  data: unknown,
  options: RaiseManyOptions,
): Promise<BulkReport> {
  checkMembers(options, RAISE, "client.raiseMany");
  const { requestId, ...bulk } = options;
  checkBulk(bulk);
  parseName(event, "event name");
  store.codec.encode(data); // a value that cannot be sent is an error of the call, not of each instance
  if (requestId !== undefined) parseRequestId(requestId);
  const filter = bulkFilter(given, LIVE, "client.raiseMany");
  const request = defined({ requestId });
  const each = toEach((id) => new Handle(store, id).raise(event, data, request));
  return applyToMany(store, filter, bulk, { apply: each });
}

export async function restartMany(
  store: Store,
  given: BulkFilter,
  options: RestartManyOptions,
): Promise<BulkReport> {
  checkMembers(options, RESTART, "client.restartMany");
  const { limit, dryRun, cursor, ...restart } = options;
  const bulk = defined({ limit, dryRun, cursor });
  checkBulk(bulk);
  checkRestart(restart);
  const filter = bulkFilter(given, ENDED, "client.restartMany");
  return applyToMany(store, filter, bulk, restarter(store, restart));
}

export function restarter(store: Store, options: RestartOptions): Required<BulkOperation> {
  return {
    apply: toEach((id) => new Handle(store, id).restart(options)),
    check: toEach((id) => checkRestartOf(store, id, options)),
  };
}
