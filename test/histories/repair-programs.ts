// Programs that fail and are rewound. The rules of programs.ts apply.

import { activity, orchestration } from "../../src/index.ts";
import type { Program } from "./programs.ts";

/** Fails the first time that it runs for a call. */
const failedOnce = new Set<string>();
const ship = activity("ship", async (parcel: string, { idempotencyKey }) => {
  if (failedOnce.has(idempotencyKey)) return `${parcel} shipped`;
  failedOnce.add(idempotencyKey);
  throw new Error("no carrier");
});
const charge = activity("charge", async (cents: number) => cents);

/** Its past has a completed call, a kept outcome, a failed call, a timer, state and a compensation. */
const repaired = orchestration("repaired", async (ctx) => {
  const paid = await ctx.run(charge, 5);
  ctx.compensate(() => ctx.run(charge, -5));
  ctx.setStatus("paid");
  const timer = ctx.sleep("1h");
  const results = await Promise.allSettled([ctx.run(ship, "a"), ctx.run(charge, 1), timer]);
  for (const each of results) if (each.status === "rejected") throw each.reason;
  return [paid, await ctx.waitFor("done")];
});

export const REPAIR_PROGRAMS: readonly Program[] = [
  {
    name: "repaired",
    register: [repaired, ship, charge],
    async run(t) {
      const handle = await t.start(repaired, undefined, { id: "repaired" });
      await handle.result().catch(() => undefined);
      await handle.rewind({ to: "failure", reason: "the carrier is back", by: "ada" });
      t.raiseAt(handle, "done", 7, "2h");
      await handle.result();
    },
  },
];
