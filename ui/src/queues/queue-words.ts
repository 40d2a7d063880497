// Texts about a queue: its limits, and the addresses of its instances.

import { JOB_VERSION } from "../../../src/core/ids/semver.ts";
import type { Queue } from "../api/types.ts";
import { formatCount, formatDuration } from "../parts/format.ts";
import { addressTo } from "../router/hash-location.ts";

/** Empty: neither limits nor fair order. */
export function limitWords({ limit = {} }: Pick<Queue, "limit">): string {
  const { concurrency, perKey, rate, fair } = limit;
  return [
    ...(concurrency === undefined ? [] : [`${formatCount(concurrency)} at a time`]),
    ...(perKey === undefined ? [] : [`${formatCount(perKey)} per key`]),
    ...(rate === undefined ? [] : [`${formatCount(rate.count)} per ${formatDuration(rate.perMs)}`]),
    ...(fair === undefined ? [] : ["fair order"]),
  ].join(", ");
}

/** The address of the jobs of a queue in the list of instances. */
export function jobsAddress(name: string, status?: "failed"): string {
  const query = new URLSearchParams({ name, version: JOB_VERSION });
  if (status !== undefined) query.append("status", status);
  return addressTo(["instances"], query);
}
