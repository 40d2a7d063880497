// Restarts the failed jobs of one name. A restart runs the activity again from its first attempt, with the same input and
// a new idempotency key.
//   - The oldest jobs come first. A job that fails again during the call is not restarted again.
//   - Each job succeeds or is refused separately: a job that was restarted or deleted meanwhile does not affect the others.

import { checkMembers, type Members } from "../../core/checks.ts";
import { parseName } from "../../core/ids/ids.ts";
import { JOB_VERSION } from "../../core/ids/semver.ts";
import { defined } from "../../core/values/defined.ts";
import { applyToMany, toEach, type BulkReport } from "../bulk/apply.ts";
import { BULK_OPTIONS, checkBulk, type BulkOptions } from "../bulk/selection.ts";
import { Handle } from "../handle.ts";
import type { ListFilter } from "../list-filter.ts";
import { checkRestart } from "../repair/restart.ts";
import type { Store } from "../store.ts";

/** Which failed jobs to restart. */
export interface RetryFailedOptions extends BulkOptions {
  /** Repeated calls with the same id restart a job once. */
  readonly requestId?: string;
}
/** What `retryFailed` did. `matched`: the failed jobs of the name. */
export interface RetriedJobs extends Omit<BulkReport, "done"> {
  readonly retried: number;
}

const OPTIONS: Members<RetryFailedOptions> = { ...BULK_OPTIONS, requestId: true };

/** The failed jobs of a queue. */
export function failedJobs(name: string) {
  return { status: ["failed" as const], name, version: JOB_VERSION } satisfies ListFilter;
}

export async function retryFailed(
  store: Store,
  name: string,
  options: RetryFailedOptions,
): Promise<RetriedJobs> {
  checkMembers(options, OPTIONS, "client.retryFailed");
  const { requestId, ...bulk } = options;
  checkBulk(bulk);
  const request = defined({ requestId });
  checkRestart(request);
  const filter = failedJobs(parseName(name, "name of the queue"));
  const restart = toEach((id) => new Handle(store, id).restart(request));
  const { done: retried, ...report } = await applyToMany(store, filter, bulk, restart);
  return { ...report, retried };
}
