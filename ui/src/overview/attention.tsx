// The problems that need an operator: blocked and failed instances by cause, work that no worker can run, paused
// queues, and workers that stopped responding.

import type { ReactElement } from "react";
import type { Overview } from "../api/types.ts";
import { Icon } from "../parts/icon.tsx";
import { Panel } from "../parts/panel.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { PausedQueue } from "./paused-queue.tsx";
import { TroubleRows } from "./trouble-rows.tsx";

export function Attention({ overview }: { readonly overview: Overview }): ReactElement {
  const { troubles, metrics, runtimes, queues } = overview;
  const paused = queues.filter((queue) => queue.paused !== undefined);
  const silent = runtimes.filter(({ alive }) => !alive);
  const isCalm =
    troubles.groups.length + metrics.unclaimed.length + silent.length + paused.length === 0;
  if (isCalm) {
    return (
      <p className="note">
        <Icon name="check" />
        Nothing is blocked or failed, and every task has a worker.
      </p>
    );
  }
  return (
    <Panel title="Needs attention" tone="warn" isFlush>
      <ul className="attention">
        {metrics.unclaimed.map((work) => (
          <li key={JSON.stringify(work)} data-status="paused">
            <Icon name="warning" />
            <div className="grow">
              {work.kind} <span className="mono wrap">{work.name}</span>
              {work.kind === "activity" && work.tags.length > 0 ? ` [${work.tags.join(", ")}]` : ""}
              {work.kind === "orchestration" && work.version !== undefined
                ? ` ${work.version}`
                : ""}
              : no worker can run this
              <p className="muted attention-text">{work.reason}</p>
            </div>
            <TimeAgo at={work.since} />
          </li>
        ))}
        {paused.map((queue) => (
          <PausedQueue key={queue.name} queue={queue} />
        ))}
        <TroubleRows troubles={troubles} metrics={metrics} />
        {silent.map(({ id, hostname, lastBeatAt, note }) => (
          <li key={id} data-status="pending">
            <Icon name="runtimes" />
            <div className="grow">
              Worker <span className="mono wrap">{id}</span> on {hostname} is not responding
              {note === undefined ? null : <p className="muted attention-text">{note}</p>}
            </div>
            <TimeAgo at={lastBeatAt} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
