// Retries the failed jobs of one name: a bulk rewind to the failure (../bulk/rewind-many.ts). The activity of each job runs
// again from its first attempt, with the same input and the same idempotency key.

import { checkMembers, type Members } from "../../core/checks.ts";
import { parseName } from "../../core/ids/ids.ts";
import { JOB_VERSION } from "../../core/ids/semver.ts";
import { defined } from "../../core/values/defined.ts";
import type { BulkReport } from "../bulk/apply.ts";
import { rewindMany } from "../bulk/rewind-many.ts";
import { BULK_OPTIONS, type BulkOptions } from "../bulk/selection.ts";
import type { ListFilter } from "../list-filter.ts";
import type { RepairOptions } from "../repair/rewind.ts";
import type { Store } from "../store.ts";

/** Options of `client.retryFailed`. */
export interface RetryFailedOptions extends BulkOptions, RepairOptions {
  /** Repeated calls with the same id retry a job once. */
  readonly requestId?: string;
}

const OPTIONS: Members<RetryFailedOptions> = {
  ...BULK_OPTIONS,
  reason: true,
  by: true,
  requestId: true,
};

/** The point at which a failed job goes on. */
export const RETRY = { to: "failure", reason: "retried by request" } as const;

/** The failed jobs of a queue. */
export function failedJobs(name: string) {
  return { status: ["failed" as const], name, version: JOB_VERSION } satisfies ListFilter;
}

export async function retryFailed(
  store: Store,
  name: string,
  options: RetryFailedOptions,
): Promise<BulkReport> {
  checkMembers(options, OPTIONS, "client.retryFailed");
  const filter = failedJobs(parseName(name, "name of the queue"));
  return rewindMany(store, filter, { ...RETRY, ...defined(options) });
}
