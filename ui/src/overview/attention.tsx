// What needs somebody: blocked instances, work that no runtime takes, runtimes that went silent.

import type { ReactElement } from "react";
import type { Overview } from "../api/types.ts";
import { plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { InstanceLink } from "../parts/instance-link.tsx";
import { Panel } from "../parts/panel.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";

const BLOCKED_SHOWN = 5;

export function Attention({ overview }: { readonly overview: Overview }): ReactElement {
  const { blocked, metrics, runtimes } = overview;
  const silent = runtimes.filter(({ alive }) => !alive);
  const isCalm = blocked.length === 0 && metrics.unclaimed.length === 0 && silent.length === 0;
  if (isCalm) {
    return (
      <p className="note">
        <Icon name="check" />
        Nothing is blocked, and no work waits for nobody.
      </p>
    );
  }
  const more = metrics.blocked - Math.min(blocked.length, BLOCKED_SHOWN);
  return (
    <Panel title="Needs attention" tone="warn" isFlush>
      <ul className="attention">
        {blocked.slice(0, BLOCKED_SHOWN).map(({ id, blocked: { code, message, since } }) => (
          <li key={id} data-status="blocked">
            <Icon name="lock" />
            <div className="grow">
              <InstanceLink id={id} /> is blocked: <strong>{code}</strong>
              <p className="muted attention-text">{message}</p>
            </div>
            <TimeAgo at={since} />
          </li>
        ))}
        {more <= 0 ? null : (
          <li>
            <a href={addressTo(["instances"], new URLSearchParams({ blocked: "true" }))}>
              {plural(more, "more blocked instance")}
            </a>
          </li>
        )}
        {metrics.unclaimed.map((work) => (
          <li key={JSON.stringify(work)} data-status="paused">
            <Icon name="warning" />
            <div className="grow">
              {work.kind} <span className="mono wrap">{work.name}</span>
              {work.kind === "activity" && work.tags.length > 0 ? ` [${work.tags.join(", ")}]` : ""}
              {work.kind === "orchestration" && work.version !== undefined
                ? ` ${work.version}`
                : ""}{" "}
              waits for nobody
              <p className="muted attention-text">{work.reason}</p>
            </div>
            <TimeAgo at={work.since} />
          </li>
        ))}
        {silent.map(({ id, hostname, lastBeatAt, note }) => (
          <li key={id} data-status="pending">
            <Icon name="runtimes" />
            <div className="grow">
              Runtime <span className="mono wrap">{id}</span> on {hostname} is silent
              {note === undefined ? null : <p className="muted attention-text">{note}</p>}
            </div>
            <TimeAgo at={lastBeatAt} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
