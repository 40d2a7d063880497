// The queues, one per activity: what waits and for how long, the rate, failures, limits, pauses, and tasks that no worker
// can run. Below them the limiters.

import type { ReactElement } from "react";
import { store } from "../api/endpoints.ts";
import type { Queue } from "../api/types.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { LimitersPanel } from "../built-ins/limiters-panel.tsx";
import { Empty } from "../parts/empty.tsx";
import { formatCount, formatDuration, formatRate, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Loading } from "../parts/loading.tsx";
import { Panel } from "../parts/panel.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { addressTo } from "../router/hash-location.ts";
import { jobsAddress, limitWords } from "./queue-words.ts";

const REFRESH_MS = 1_000;
const EVERY_MS = 10_000;

export function QueuesPage(): ReactElement {
  const { data, problem, refresh } = useLoaded("queues", store.queues, { everyMs: EVERY_MS });
  useChanges(anything, refresh, REFRESH_MS);
  const unclaimed = (data ?? []).filter((queue) => queue.unclaimed !== undefined);
  return (
    <>
      <header className="page-head">
        <h1>Queues</h1>
      </header>
      <div className="stack">
        {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
        {unclaimed.length === 0 ? null : (
          <p className="note" data-tone="warn">
            <Icon name="warning" />
            No worker can run tasks of {plural(unclaimed.length, "queue")}.
          </p>
        )}
        {data === undefined ? (
          problem === undefined ? (
            <Loading rows={5} />
          ) : null
        ) : (
          <Panel title={plural(data.length, "queue")} isFlush>
            {data.length === 0 ? (
              <Empty title="All queues are empty">
                A queue appears here while it has tasks, failed jobs, a limit or a pause.
              </Empty>
            ) : (
              <QueueTable queues={data} />
            )}
          </Panel>
        )}
        <LimitersPanel />
      </div>
    </>
  );
}

function QueueTable({ queues }: { readonly queues: readonly Queue[] }): ReactElement {
  return (
    <TableScroll>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col" className="number">
              Depth
            </th>
            <th scope="col" className="number">
              Oldest
            </th>
            <th scope="col" className="number">
              Running
            </th>
            <th scope="col" className="number">
              Delayed
            </th>
            <th scope="col" className="number">
              Rate
            </th>
            <th scope="col" className="number">
              Failed jobs
            </th>
            <th scope="col">Limit</th>
          </tr>
        </thead>
        <tbody>
          {queues.map((queue) => (
            <QueueRow key={queue.name} queue={queue} />
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

function QueueRow({ queue }: { readonly queue: Queue }): ReactElement {
  const { name, paused, depth, oldestAgeMs, running, delayed, rate, failures, unclaimed } = queue;
  return (
    <tr>
      <td>
        <div className="row">
          <a className="mono wrap" href={addressTo(["queues", name])}>
            {name}
          </a>
          {paused === undefined ? null : <StatusBadge status="paused" />}
        </div>
        {unclaimed === undefined ? null : (
          <span className="list-trouble wrap">no worker can run this: {unclaimed}</span>
        )}
      </td>
      <td className="number">{formatCount(depth)}</td>
      <td className="number">{oldestAgeMs === undefined ? "" : formatDuration(oldestAgeMs)}</td>
      <td className="number">{formatCount(running)}</td>
      <td className="number">{formatCount(delayed)}</td>
      <td className="number">{formatRate(rate)}</td>
      <td className="number">
        {failures === 0 ? "0" : <a href={jobsAddress(name, "failed")}>{formatCount(failures)}</a>}
      </td>
      <td>{limitWords(queue)}</td>
    </tr>
  );
}
