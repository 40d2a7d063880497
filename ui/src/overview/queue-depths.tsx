// The depth of the queues, by tags and priority.

import type { ReactElement } from "react";
import type { Queue } from "../api/types.ts";
import { Empty } from "../parts/empty.tsx";
import { formatCount, plural } from "../parts/format.ts";
import { Panel } from "../parts/panel.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { addressTo } from "../router/hash-location.ts";
import { depthsOf, PRIORITIES } from "./depths.ts";

export function QueueDepths({
  queues,
  count,
}: {
  readonly queues: readonly Queue[];
  readonly count: number;
}): ReactElement {
  const depths = depthsOf(queues);
  const deepest = Math.max(1, ...depths.flatMap(({ waiting }) => waiting));
  return (
    <Panel
      title="Queue depth"
      isFlush
      tools={<a href={addressTo(["queues"])}>{plural(count, "queue")}</a>}
    >
      {depths.length === 0 ? (
        <Empty title="No tasks are waiting or running" />
      ) : (
        <TableScroll>
          <table className="table depths">
            <caption className="visually-hidden">Waiting tasks by tags and priority</caption>
            <thead>
              <tr>
                <th scope="col">Tags</th>
                {PRIORITIES.map((priority) => (
                  <th key={priority} scope="col" className="number">
                    P{priority}
                  </th>
                ))}
                <th scope="col" className="number">
                  Running
                </th>
              </tr>
            </thead>
            <tbody>
              {depths.map(({ tags, waiting, running }) => (
                <tr key={tags}>
                  <th scope="row">
                    <span className="tag">{tags}</span>
                  </th>
                  {waiting.map((depth, index) => (
                    <td key={index} className="number depth">
                      <meter min={0} max={deepest} value={depth} aria-hidden="true" />
                      {formatCount(depth)}
                    </td>
                  ))}
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
