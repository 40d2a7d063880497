// Stuck instances: whether an instance can continue, and a readable reason why it has not ended.
//   - An instance is stuck if it is blocked or unclaimed. It is unclaimed if no running worker can run it,
//        or if it waits only for activities that no running worker can run. A paused instance is not stuck:
//        it was paused on purpose.
//   - The reasons depend on the workers that are alive now. A worker that starts later changes the result.

import { waitsText } from "../../core/history/awaited-event.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import { isTerminalStatus, type InstanceRecord } from "../../core/provider/index.ts";
import { describeRecord } from "./describe.ts";
import type { InstanceInfo } from "./instance-info.ts";
import type { Store } from "../store.ts";
import { findUnclaimed } from "./unclaimed.ts";

export interface Stuck {
  readonly code: "BLOCKED" | "UNCLAIMED";
  readonly reason: string;
}

/** Undefined: the instance can continue, or has ended. */
export async function findStuck(
  store: Store,
  id: string,
  until: number,
): Promise<Stuck | undefined> {
  const record = await store.record(id, until);
  if (isTerminalStatus(record.status)) return undefined;
  if (record.blocked !== null) return stuckOf(await describeRecord(store, record, [], until));
  const address = { key: record.key, execution: record.execution };
  const tasks = await store.read((provider) => provider.readTasks(address), until);
  const unclaimed = await findUnclaimed(store, record, tasks, until);
  // This function runs after every change of the instance: read the history only if something is unclaimed.
  if (unclaimed.size === 0) return undefined;
  return stuckOf(await describeRecord(store, record, tasks, until));
}

function stuckOf(info: InstanceInfo): Stuck | undefined {
  const { blocked, paused, unclaimed, waitingFor } = info;
  if (blocked !== undefined) return { code: "BLOCKED", reason: whyNotEnded(info) };
  if (paused !== undefined) return undefined;
  const isUnclaimed =
    unclaimed !== undefined ||
    (waitingFor.length > 0 &&
      waitingFor.every((wait) => wait.kind === "activity" && wait.unclaimed !== undefined));
  return isUnclaimed ? { code: "UNCLAIMED", reason: whyNotEnded(info) } : undefined;
}

/**
 * The reason for the message of a timeout. Undefined: the store is unavailable, or the instance has just
 * ended.
 */
export async function reasonNow(
  store: Store,
  id: string,
  { brief }: { readonly brief: boolean },
): Promise<string | undefined> {
  const now = store.provider.environment.monotonic();
  try {
    const record = await store.record(id, now);
    if (isTerminalStatus(record.status)) return undefined;
    if (brief) return await briefReason(store, record, now);
    return whyNotEnded(await describeRecord(store, record, undefined, now));
  } catch (error) {
    if (isPerdureError(error)) return undefined;
    throw error;
  }
}

/** Does not read the history: for calls with timeout 0, which callers may repeat often. */
async function briefReason(
  store: Store,
  record: InstanceRecord,
  until: number,
): Promise<string | undefined> {
  if (record.blocked !== null || record.paused !== null) {
    return whyNotEnded(await describeRecord(store, record, [], until));
  }
  return (await findUnclaimed(store, record, [], until)).get(0);
}

/** A clause such as `it waits for the event "answer"`. */
function whyNotEnded(info: InstanceInfo): string {
  const { blocked, paused, unclaimed, waitingFor, status } = info;
  if (blocked !== undefined)
    return `it is blocked by ${blocked.code}: ${withoutFullStop(blocked.message)}`;
  if (paused !== undefined) return `it is paused: ${withoutFullStop(paused.reason)}`;
  if (unclaimed !== undefined) return unclaimed;
  const missing = waitingFor.flatMap((wait) =>
    wait.kind === "activity" && wait.unclaimed !== undefined ? [wait.unclaimed] : [],
  );
  if (missing.length > 0) return [...new Set(missing)].join("; ");
  if (waitingFor.length > 0) return `it ${waitsText(waitingFor)}`;
  return status === "pending" ? "it has not started" : "its code is running";
}

/** The clause is used inside a sentence. */
function withoutFullStop(text: string): string {
  return text.replace(/\.$/, "");
}
