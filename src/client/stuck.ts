// Why an instance has not ended, in words; and whether it can continue at all.
//   SK1. Stuck is: blocked, or unclaimed. Unclaimed is an instance that no running worker can run, or one that waits only
//        for activities that no running worker can run. A paused instance is not stuck: a person paused it.
//   SK2. The reasons are worked out from the workers that are alive now. A worker that starts later changes the answer.

import { waitsText } from "../core/awaited-event.ts";
import { isPerdureError } from "../core/errors.ts";
import { isTerminalStatus, type InstanceRecord } from "../core/provider/index.ts";
import { describeRecord } from "./describe.ts";
import type { InstanceInfo } from "./instance-info.ts";
import type { Store } from "./store.ts";
import { unclaimedOf } from "./unclaimed.ts";

export interface Stuck {
  readonly code: "BLOCKED" | "UNCLAIMED";
  readonly reason: string;
}

/** Undefined: the instance can continue, or has ended. */
export async function stuckBy(store: Store, id: string, until: number): Promise<Stuck | undefined> {
  const record = await store.record(id, until);
  if (isTerminalStatus(record.status)) return undefined;
  if (record.blocked !== null) return stuckOf(await describeRecord(store, record, [], until));
  const address = { key: record.key, execution: record.execution };
  const tasks = await store.read((provider) => provider.readTasks(address), until);
  const nobody = await unclaimedOf(store, record, tasks, until);
  // Only then the history is read: this runs after every change of the instance.
  if (nobody.size === 0) return undefined;
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

/** For the message of a timeout; undefined: the store cannot be asked now, or the instance has just ended. */
export async function reasonNow(
  store: Store,
  id: string,
  { brief }: { readonly brief: boolean },
): Promise<string | undefined> {
  const now = store.provider.environment.monotonic();
  try {
    const record = await store.record(id, now);
    if (isTerminalStatus(record.status)) return undefined;
    return brief ? await briefReason(store, record, now) : await fullReason(store, record, now);
  } catch (error) {
    if (isPerdureError(error)) return undefined;
    throw error;
  }
}

async function fullReason(store: Store, record: InstanceRecord, until: number): Promise<string> {
  return whyNotEnded(await describeRecord(store, record, undefined, until));
}

/** Without a look at the history: for calls that look once, and may be repeated often. */
async function briefReason(
  store: Store,
  record: InstanceRecord,
  until: number,
): Promise<string | undefined> {
  if (record.blocked !== null || record.paused !== null) {
    return whyNotEnded(await describeRecord(store, record, [], until));
  }
  return (await unclaimedOf(store, record, [], until)).get(0);
}

/** A clause such as `it waits for the event "answer"`. */
function whyNotEnded(info: InstanceInfo): string {
  const { blocked, paused, unclaimed, waitingFor, status } = info;
  if (blocked !== undefined) return `it is blocked by ${blocked.code}: ${ended(blocked.message)}`;
  if (paused !== undefined) return `it is paused: ${ended(paused.reason)}`;
  if (unclaimed !== undefined) return unclaimed;
  const missing = waitingFor.flatMap((wait) =>
    wait.kind === "activity" && wait.unclaimed !== undefined ? [wait.unclaimed] : [],
  );
  if (missing.length > 0) return [...new Set(missing)].join("; ");
  if (waitingFor.length > 0) return `it ${waitsText(waitingFor)}`;
  return status === "pending" ? "it has not started" : "its code is running";
}

/** Without the full stop: the clause stands inside a sentence. */
function ended(text: string): string {
  return text.replace(/\.$/, "");
}
