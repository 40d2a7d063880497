// One queue: its figures, its actions, the keys with the most waiting tasks, and its tasks by tags and priority.

import type { ReactElement } from "react";
import { queues } from "../api/endpoints.ts";
import type { QueueDetail } from "../api/types.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Fact } from "../parts/fact.tsx";
import { formatCount, formatDuration, formatRate } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Loading } from "../parts/loading.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";
import { QueueActions } from "./queue-actions.tsx";
import { KeyTable, KindTable } from "./queue-tables.tsx";
import { jobsAddress, limitWords } from "./queue-words.ts";

const REFRESH_MS = 1_000;
const EVERY_MS = 5_000;

export function QueuePage({ name }: { readonly name: string }): ReactElement {
  const load = (signal: AbortSignal): Promise<QueueDetail> => queues.read(name, signal);
  const { data, problem, refresh } = useLoaded(`queue ${name}`, load, { everyMs: EVERY_MS });
  useChanges(anything, refresh, REFRESH_MS);
  return (
    <div className="stack">
      <header className="instance-head">
        <p className="crumbs">
          <a href={addressTo(["queues"])}>Queues</a> ›{" "}
          <a href={jobsAddress(name)}>jobs of this queue</a>
        </p>
        <div className="row">
          <h1 className="mono wrap">{name}</h1>
          {data?.paused === undefined ? null : <StatusBadge status="paused" />}
        </div>
        {data === undefined ? null : <QueueFacts queue={data} />}
      </header>
      {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
      {data === undefined ? (
        problem === undefined ? (
          <Loading rows={4} />
        ) : null
      ) : (
        <>
          <QueueNotes queue={data} />
          <QueueActions queue={data} onDone={refresh} />
          <div className="columns">
            <KeyTable queue={data} />
            <KindTable queue={data} />
          </div>
        </>
      )}
    </div>
  );
}

function QueueFacts({ queue }: { readonly queue: QueueDetail }): ReactElement {
  const { name, depth, oldestAgeMs, running, delayed, rate, failures, recent } = queue;
  return (
    <dl className="facts">
      <Fact name="Depth">{formatCount(depth)}</Fact>
      <Fact name="Oldest">
        {oldestAgeMs === undefined ? "none waits" : formatDuration(oldestAgeMs)}
      </Fact>
      <Fact name="Running">{formatCount(running)}</Fact>
      <Fact name="Delayed">{formatCount(delayed)}</Fact>
      <Fact name="Rate">{formatRate(rate)}</Fact>
      <Fact name="Last minute">
        {formatCount(recent.completed)} completed, {formatCount(recent.failed)} failed,{" "}
        {formatCount(recent.retried)} retried
      </Fact>
      <Fact name="Failed jobs">
        {failures === 0 ? "0" : <a href={jobsAddress(name, "failed")}>{formatCount(failures)}</a>}
      </Fact>
      <Fact name="Limit">{limitWords(queue) || "none"}</Fact>
    </dl>
  );
}

function QueueNotes({ queue: { paused, unclaimed } }: { readonly queue: QueueDetail }) {
  return (
    <>
      {paused === undefined ? null : (
        <p className="note" data-tone="warn">
          <Icon name="pause" />
          <span className="grow wrap">
            Paused <TimeAgo at={paused.at} />
            {paused.by === undefined ? "" : ` by ${paused.by}`}
            {paused.reason === undefined ? "" : `: ${paused.reason}`}
          </span>
        </p>
      )}
      {unclaimed === undefined ? null : (
        <p className="note" data-tone="warn">
          <Icon name="warning" />
          <span className="grow wrap">No worker can run this: {unclaimed}</span>
        </p>
      )}
    </>
  );
}
