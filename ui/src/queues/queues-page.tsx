// The task queues: what waits, what runs, and what no worker can run.

import type { ReactElement } from "react";
import { store } from "../api/endpoints.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Empty } from "../parts/empty.tsx";
import { formatCount, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Loading } from "../parts/loading.tsx";
import { Panel } from "../parts/panel.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";

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
            No worker can run {plural(unclaimed.length, "kind")} of tasks: see the last column.
          </p>
        )}
        {data === undefined ? (
          problem === undefined ? (
            <Loading rows={5} />
          ) : null
        ) : (
          <Panel title={plural(data.length, "kind of task", "kinds of tasks")} isFlush>
            {data.length === 0 ? (
              <Empty title="No tasks are waiting or running">
                Scheduled activities appear here until they end.
              </Empty>
            ) : (
              <div className="table-scroll">
                <table className="table">
                  <thead>
                    <tr>
                      <th scope="col">Activity</th>
                      <th scope="col">Tags</th>
                      <th scope="col" className="number">
                        Priority
                      </th>
                      <th scope="col" className="number">
                        Waiting
                      </th>
                      <th scope="col" className="number">
                        Running
                      </th>
                      <th scope="col" className="number">
                        Delayed
                      </th>
                      <th scope="col">Oldest</th>
                      <th scope="col">Taken by</th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.map((queue) => (
                      <tr key={JSON.stringify([queue.name, queue.tags, queue.priority])}>
                        <td className="mono wrap">{queue.name}</td>
                        <td>
                          <span className="tags">
                            {queue.tags.length === 0 ? (
                              <span className="faint">untagged</span>
                            ) : (
                              queue.tags.map((tag) => (
                                <span key={tag} className="tag">
                                  {tag}
                                </span>
                              ))
                            )}
                          </span>
                        </td>
                        <td className="number">{queue.priority}</td>
                        <td className="number">{formatCount(queue.waiting)}</td>
                        <td className="number">{formatCount(queue.running)}</td>
                        <td className="number">{formatCount(queue.delayed)}</td>
                        <td>
                          {queue.oldestAvailableAt === undefined ? (
                            ""
                          ) : (
                            <TimeAgo at={queue.oldestAvailableAt} />
                          )}
                        </td>
                        <td>
                          {queue.unclaimed === undefined ? (
                            "a running worker"
                          ) : (
                            <span className="list-trouble wrap">
                              no worker can run this: {queue.unclaimed}
                            </span>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </Panel>
        )}
      </div>
    </>
  );
}
