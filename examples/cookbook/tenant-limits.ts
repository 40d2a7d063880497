// Per-tenant limits: no tenant can use all workers. docs/cookbook/tenant-limits.md shows this file.

import { job, type Client } from "../../src/index.ts";

interface Export {
  readonly tenant: string;
  readonly month: string;
}

export const exportMonth = job(
  "exportMonth",
  async ({ tenant, month }: Export) => `s3://exports/${tenant}/${month}.csv`,
  {
    limit: { concurrency: 20, perKey: 2 }, // over all processes; two per tenant
    fair: true, // tenants take turns
    attempts: 3,
    timeout: "10m",
  },
);

export function requestExports(client: Client, tenant: string, months: readonly string[]) {
  return client.enqueueMany(
    exportMonth,
    months.map((month) => ({ input: { tenant, month }, key: tenant })),
  );
}
