// W17-fair: two tenants share a queue in fair order.
//   - First the small tenant comes when the large one has a long backlog: how long does its first job wait?
//   - Then both have a backlog, with weights of 3 and 1: how far is the share of the large one from three quarters, over
//     every 1,000 starts in a row? Only starts count at which both had waiting jobs.

import { strict as assert } from "node:assert";
import { performance } from "node:perf_hooks";
import { job } from "../../../src/index.ts";
import { until } from "../../measure.ts";
import { backlog, SHARED_STARTS, SMALL_TENANT } from "../../sizes.ts";
import type { Run } from "../../subject.ts";
import { withPerdure } from "../../support/open.ts";

type Tenant = "large" | "small";
const WEIGHTS = { large: 3, small: 1 };
const SHARE = WEIGHTS.large / (WEIGHTS.large + WEIGHTS.small);

export const run: Run = (setting) => {
  const starts: Tenant[] = [];
  let firstOfSmall: number | null = null;
  const work = job(
    "work",
    (tenant: Tenant) => {
      starts.push(tenant);
      if (tenant === "small") firstOfSmall ??= performance.now();
    },
    { fair: { weight: (key) => (key === "large" ? WEIGHTS.large : WEIGHTS.small) } },
  );
  const of = (tenant: Tenant, count: number) =>
    Array.from({ length: count }, () => ({ input: tenant, key: tenant }));
  return withPerdure(setting, { register: [work] }, async ({ client }) => {
    const large = backlog(setting);
    const allStarted = (count: number): Promise<void> =>
      until("every job is started", () => starts.length >= count, { timeoutMs: 600_000 });
    await client.pauseQueue("work");
    await client.enqueueMany(work, of("large", large));
    await client.resumeQueue("work");
    await until("the large tenant is at work", () => starts.length > 1_000);
    const asked = performance.now();
    await client.enqueueMany(work, of("small", SMALL_TENANT));
    await until("the small tenant has started", () => firstOfSmall !== null);
    const firstMs = (firstOfSmall ?? Number.NaN) - asked;
    assert.ok(starts.length < large, "the large tenant still has waiting jobs");
    await allStarted(large + SMALL_TENANT);

    starts.length = 0;
    await client.pauseQueue("work");
    await client.enqueueMany(work, of("large", SHARED_STARTS * WEIGHTS.large));
    await client.enqueueMany(work, of("small", SHARED_STARTS * WEIGHTS.small));
    await client.resumeQueue("work");
    await allStarted(SHARED_STARTS * (WEIGHTS.large + WEIGHTS.small));
    return [
      { metric: "firstMs", value: firstMs, n: large },
      { metric: "offPoints", value: worstShare(starts), n: starts.length },
    ];
  });
};

/** The largest distance from the share of the large tenant, in percentage points. */
function worstShare(starts: readonly Tenant[]): number {
  const both = Math.min(starts.lastIndexOf("large"), starts.lastIndexOf("small"));
  let count = 0;
  let worst = 0;
  for (let i = 0; i < both; i++) {
    count += starts[i] === "large" ? 1 : 0;
    if (i < 1_000) continue;
    count -= starts[i - 1_000] === "large" ? 1 : 0;
    worst = Math.max(worst, Math.abs(count / 1_000 - SHARE));
  }
  return worst * 100;
}
