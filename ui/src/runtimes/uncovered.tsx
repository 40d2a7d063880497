// Waiting work that no running worker can run.

import type { ReactElement } from "react";
import type { Unclaimed } from "../api/types.ts";
import { Panel } from "../parts/panel.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";

export function Uncovered({
  unclaimed,
}: {
  readonly unclaimed: readonly Unclaimed[];
}): ReactElement | null {
  if (unclaimed.length === 0) return null;
  return (
    <Panel title="No worker can run this" tone="warn" isFlush>
      <ul className="attention">
        {unclaimed.map((work) => (
          <li key={JSON.stringify(work)}>
            <div className="grow">
              {work.kind} <span className="mono wrap">{work.name}</span>
              <p className="muted attention-text">{work.reason}</p>
            </div>
            <TimeAgo at={work.since} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
