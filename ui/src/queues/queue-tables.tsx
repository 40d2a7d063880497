// The tables of a queue: the keys with the most waiting tasks, and the tasks by tags and priority.

import type { ReactElement } from "react";
import type { QueueDetail } from "../api/types.ts";
import { Empty } from "../parts/empty.tsx";
import { formatCount } from "../parts/format.ts";
import { Panel } from "../parts/panel.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";

export function KeyTable({ queue: { topKeys } }: { readonly queue: QueueDetail }): ReactElement {
  return (
    <Panel title="Keys with the most waiting tasks" isFlush>
      {topKeys.length === 0 ? (
        <Empty title="No tasks are waiting" />
      ) : (
        <TableScroll>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Key</th>
                <th scope="col" className="number">
                  Waiting
                </th>
                <th scope="col" className="number">
                  Running
                </th>
              </tr>
            </thead>
            <tbody>
              {topKeys.map(({ key, waiting, running }) => (
                <tr key={key}>
                  <td className="mono wrap">
                    {key === "" ? <span className="faint">no key</span> : key}
                  </td>
                  <td className="number">{formatCount(waiting)}</td>
                  <td className="number">{formatCount(running)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </Panel>
  );
}

export function KindTable({ queue: { kinds } }: { readonly queue: QueueDetail }): ReactElement {
  return (
    <Panel title="Tasks by tags and priority" isFlush>
      {kinds.length === 0 ? (
        <Empty title="No tasks are waiting or running" />
      ) : (
        <TableScroll>
          <table className="table">
            <thead>
              <tr>
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
              </tr>
            </thead>
            <tbody>
              {kinds.map(({ tags, priority, waiting, running, delayed }) => (
                <tr key={JSON.stringify([tags, priority])}>
                  <td>
                    <span className="tags">
                      {tags.length === 0 ? (
                        <span className="faint">untagged</span>
                      ) : (
                        tags.map((tag) => (
                          <span key={tag} className="tag">
                            {tag}
                          </span>
                        ))
                      )}
                    </span>
                  </td>
                  <td className="number">{priority}</td>
                  <td className="number">{formatCount(waiting)}</td>
                  <td className="number">{formatCount(running)}</td>
                  <td className="number">{formatCount(delayed)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </Panel>
  );
}
