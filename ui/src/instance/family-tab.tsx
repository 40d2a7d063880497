// The tab with the parent, the children and the executions of an instance.

import type { ReactElement } from "react";
import { inspect } from "../api/endpoints.ts";
import type { Execution, Instance } from "../api/types.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Elapsed } from "../parts/elapsed.tsx";
import { formatCount } from "../parts/format.ts";
import { InstanceLink } from "../parts/instance-link.tsx";
import { Loading } from "../parts/loading.tsx";
import { Panel } from "../parts/panel.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { AnyStatusBadge } from "../parts/status-badge.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";
import { TreeView } from "./tree-view.tsx";

const REFRESH_MS = 2_000;

export function FamilyTab({
  instance,
  executions = [],
}: {
  readonly instance: Instance;
  readonly executions: readonly Execution[] | undefined;
}): ReactElement {
  const { id, parent } = instance;
  const tree = useLoaded(`tree ${id}`, (signal) => inspect.tree(id, signal));
  useChanges(anything, tree.refresh, REFRESH_MS);
  return (
    <div className="columns">
      <Panel
        title="Tree"
        tools={
          <a href={addressTo(["instances"], new URLSearchParams({ parent: id }))}>
            Children as a list
          </a>
        }
      >
        <div className="stack">
          {parent === undefined ? (
            <p className="muted">No parent.</p>
          ) : (
            <p>
              Child of <InstanceLink id={parent.id} />, started by its event {parent.sequence}
            </p>
          )}
          {tree.problem === undefined ? null : (
            <ProblemNote problem={tree.problem} retry={tree.refresh} />
          )}
          {tree.data === undefined ? (
            <Loading rows={2} />
          ) : (
            <ul className="tree">
              <TreeView node={tree.data} current={id} depth={0} />
            </ul>
          )}
        </div>
      </Panel>
      <Panel title="Executions" isFlush>
        <TableScroll>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Number</th>
                <th scope="col">Status</th>
                <th scope="col" className="number">
                  Events
                </th>
                <th scope="col">Started</th>
                <th scope="col">Duration</th>
              </tr>
            </thead>
            <tbody>
              {executions.toReversed().map((each) => (
                <tr key={each.execution}>
                  <td>
                    <a
                      href={addressTo(
                        ["instances", id],
                        new URLSearchParams({ execution: String(each.execution) }),
                      )}
                    >
                      {each.execution}
                    </a>
                  </td>
                  <td>
                    <AnyStatusBadge status={each.status} />
                  </td>
                  <td className="number">{formatCount(each.events)}</td>
                  <td>
                    <TimeAgo at={each.startedAt} />
                  </td>
                  <td>
                    <Elapsed from={each.startedAt} to={each.completedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      </Panel>
    </div>
  );
}
