// Pauses and resumes a queue. While a queue is paused, no worker begins an attempt of its tasks; running attempts go on.
//   - Both calls can be repeated: the first pause counts, and a queue that is not paused stays as it is.

import { checkMembers, invalidArgument, type Members } from "../../core/checks.ts";
import { checkStorable, parseName, showValue } from "../../core/ids/ids.ts";
import { defined } from "../../core/values/defined.ts";
import type { Store } from "../store.ts";

/** Why a queue is paused. */
export interface PauseQueueOptions {
  readonly reason?: string;
  /** The person or system that pauses the queue. */
  readonly by?: string;
}

const OPTIONS: Members<PauseQueueOptions> = { reason: true, by: true };

export async function pauseQueue(
  store: Store,
  name: string,
  options: PauseQueueOptions,
): Promise<void> {
  const queue = parseName(name, "name of the queue");
  checkMembers(options, OPTIONS, "client.pauseQueue");
  const { reason, by } = options;
  checkText(reason, "reason");
  checkText(by, "by");
  const info = JSON.stringify({ ...defined({ reason, by }), at: store.provider.now() });
  await store.read((provider) => provider.pauseQueue(queue, info));
}

export async function resumeQueue(store: Store, name: string): Promise<void> {
  const queue = parseName(name, "name of the queue");
  await store.read((provider) => provider.resumeQueue(queue));
}

function checkText(value: unknown, what: string): void {
  if (value === undefined) return;
  if (typeof value === "string") return checkStorable(value, what);
  throw invalidArgument(`${what} must be a string; got ${showValue(value)}.`);
}
