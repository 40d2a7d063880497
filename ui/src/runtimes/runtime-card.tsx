// A panel about one worker.

import type { ReactElement } from "react";
import type { Runtime } from "../api/types.ts";
import { Fact } from "../parts/fact.tsx";
import { formatCount, formatDateTime, plural, shortVersion } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Panel } from "../parts/panel.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";

export function RuntimeCard({ runtime }: { readonly runtime: Runtime }): ReactElement {
  const { id, nodeId, hostname, pid, alive, registered, load, startedAt, lastBeatAt, note } =
    runtime;
  return (
    <Panel
      title={
        <span className="row">
          <span className="live" data-state={alive ? "live" : "lost"}>
            {alive ? "running" : "not responding"}
          </span>
          {hostname}
          {pid === undefined ? "" : ` · process ${pid}`}
        </span>
      }
      tools={<span className="mono faint wrap">{id}</span>}
    >
      <div className="stack">
        <dl className="facts">
          <Fact name="Load">
            {plural(load.instances, "instance")}, {plural(load.tasks, "task")}
          </Fact>
          <Fact name="Last heartbeat">
            <TimeAgo at={lastBeatAt} />
          </Fact>
          <Fact name="Started">
            <span title={formatDateTime(startedAt)}>
              <TimeAgo at={startedAt} />
            </span>
          </Fact>
          <Fact name="Node">
            <span className="mono">{nodeId}</span>
          </Fact>
          {registered === undefined ? null : (
            <>
              <Fact name="Tasks">{tagWords(registered.tags)}</Fact>
              <Fact name="Replays histories of version">
                {registered.replayVersions.min === registered.replayVersions.max
                  ? registered.replayVersions.max
                  : `${registered.replayVersions.min} to ${registered.replayVersions.max}`}
              </Fact>
            </>
          )}
        </dl>
        {note === undefined ? null : (
          <p className="note" data-tone="warn">
            <Icon name="info" />
            <span className="grow">{note}</span>
          </p>
        )}
        {registered === undefined ? (
          <p className="muted">
            A different version of the library wrote what this worker registers.
          </p>
        ) : (
          <>
            <Names
              title="orchestrations"
              names={registered.orchestrations.flatMap(({ name, versions }) =>
                versions.map((version) => `${name} ${shortVersion(version)}`),
              )}
            />
            <Names title="activities" names={registered.activities} />
          </>
        )}
      </div>
    </Panel>
  );
}

function Names({
  title,
  names,
}: {
  readonly title: string;
  readonly names: readonly string[];
}): ReactElement {
  return (
    <details>
      <summary>
        {formatCount(names.length)} {title}
      </summary>
      <span className="tags">
        {names.map((name) => (
          <span key={name} className="tag" title={name}>
            {name}
          </span>
        ))}
      </span>
    </details>
  );
}

function tagWords(tags: NonNullable<Runtime["registered"]>["tags"]): string {
  if (tags === "untagged") return "without tags";
  if (tags === "any") return "of any tags";
  if (tags === "none") return "none";
  const own = `with ${tags.tags.join(", ")}`;
  return tags.untagged ? `${own}, and without tags` : own;
}
