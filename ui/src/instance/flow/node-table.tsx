// A table of the nodes that have run.

import type { ReactElement } from "react";
import type { Span } from "../../api/types.ts";
import { Elapsed } from "../../parts/elapsed.tsx";
import { InstanceLink } from "../../parts/instance-link.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";

const SHOWN = 500;

export function NodeTable({ spans }: { readonly spans: readonly Span[] }): ReactElement {
  return (
    <TableScroll>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Kind</th>
            <th scope="col">Outcome</th>
            <th scope="col">Started</th>
            <th scope="col">Duration</th>
            <th scope="col" className="number">
              Attempts
            </th>
          </tr>
        </thead>
        <tbody>
          {spans.slice(0, SHOWN).map((span, index) => (
            <tr key={index}>
              <td className="mono wrap">{span.node ?? span.name ?? span.kind}</td>
              <td>{span.kind}</td>
              <td>
                {span.outcome}
                {span.message === undefined ? null : (
                  <p className="list-trouble wrap">{span.message}</p>
                )}
                {span.id === undefined ? null : (
                  <p>
                    <InstanceLink id={span.id} />
                  </p>
                )}
              </td>
              <td>
                <TimeAgo at={span.from} />
              </td>
              <td>
                <Elapsed from={span.from} to={span.to} />
              </td>
              <td className="number">{span.attempts ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
