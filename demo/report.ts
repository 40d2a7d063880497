// The end of the demo: a table of the results of every order, and the verdict.

import { isComplete, type OrderAudit } from "./audit.ts";
import { paint, table, type Screen } from "./screen.ts";

/** Returns true if nothing was lost and nothing was doubled. */
export function report(screen: Screen, audits: readonly OrderAudit[], kills: number): boolean {
  const sum = (of: (audit: OrderAudit) => number): number =>
    audits.reduce((total, audit) => total + of(audit), 0);
  const numbers = (title: string, cell: (audit: OrderAudit) => number) => ({
    title,
    cell,
    foot: sum(cell),
  });
  screen.plain();
  screen.plain(
    table<OrderAudit>(
      [
        { title: "order", cell: ({ order }) => order.id, foot: `${audits.length} orders` },
        { title: "customer", cell: ({ order }) => order.customer },
        { title: "result", cell: ({ result }) => result?.status ?? "failed" },
        numbers("total", ({ result }) => result?.total ?? 0),
        numbers("steps", ({ steps }) => steps),
        numbers("timers", ({ timers }) => timers),
        numbers("approvals", ({ approvals }) => approvals),
        numbers("activities run", ({ activities }) => activities.run),
        numbers("re-run", ({ activities }) => activities.rerun),
        numbers("recorded", ({ activities }) => activities.recorded),
        { title: "processes", cell: ({ processes }) => processes },
        { title: "", cell: (audit) => (isComplete(audit) ? "once" : "WRONG") },
      ],
      audits,
    ),
  );
  screen.plain();
  const faults = audits.flatMap(({ order, faults }) =>
    faults.map((fault) => `${order.id}: ${fault}`),
  );
  for (const fault of faults) screen.plain(`  ${paint("red", "✗")} ${fault}`);
  const isSound = audits.every(isComplete);
  const rerun = sum(({ activities }) => activities.rerun);
  screen.plain(
    isSound
      ? `  ${paint("green", "✓")} ${kills} kills, and every order finished exactly once: nothing lost, nothing doubled.\n` +
          `    ${rerun} activities ran again, after a declined card or a kill, each under the idempotency key of its\n` +
          `    first run; each result is recorded once.`
      : `  ${paint("red", "✗")} Something was lost or doubled.`,
  );
  return isSound;
}
