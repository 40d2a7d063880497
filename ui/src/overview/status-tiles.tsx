// The number of instances per status. Each tile links to the list of these instances.

import type { ReactElement } from "react";
import type { Metrics } from "../api/types.ts";
import { formatCount } from "../parts/format.ts";
import { StatusBadge } from "../parts/status-badge.tsx";
import { addressTo } from "../router/hash-location.ts";

export function StatusTiles({ metrics }: { readonly metrics: Metrics }): ReactElement {
  const { instances, paused, blocked } = metrics;
  const total = Object.values(instances).reduce((sum, count) => sum + count, 0);
  const tiles = [
    ["running", instances.running, { status: "running" }],
    ["pending", instances.pending, { status: "pending" }],
    ["paused", paused, { status: "paused" }],
    ["blocked", blocked, { blocked: "true" }],
    ["completed", instances.completed, { status: "completed" }],
    ["failed", instances.failed, { status: "failed" }],
    ["cancelled", instances.cancelled, { status: "cancelled" }],
    ["terminated", instances.terminated, { status: "terminated" }],
  ] as const;
  return (
    <section aria-label={`${formatCount(total)} instances by status`}>
      <ul className="tiles">
        {tiles.map(([status, count, query]) => (
          <li key={status}>
            <a
              className="panel tile"
              data-status={status}
              data-zero={count === 0}
              href={addressTo(["instances"], new URLSearchParams(query))}
            >
              <StatusBadge status={status} />
              <span className="tile-count">{formatCount(count)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
