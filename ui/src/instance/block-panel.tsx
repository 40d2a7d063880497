// Shows why an instance is blocked. For a nondeterminism error it compares the recorded event with the code's
// request.

import type { ReactElement } from "react";
import type { Block } from "../api/types.ts";
import { Icon } from "../parts/icon.tsx";
import { Panel } from "../parts/panel.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo, useHashLocation } from "../router/hash-location.ts";
import { diffOf } from "./block-diff.ts";

export function BlockPanel({ block }: { readonly block: Block }): ReactElement {
  const { code, message, since, by, sequence, source } = block;
  const { path } = useHashLocation();
  const lines = diffOf(block);
  return (
    <Panel
      title={
        <span className="row">
          <Icon name="lock" /> Blocked: {code}
        </span>
      }
      tone="blocked"
      tools={
        <span className="muted">
          <TimeAgo at={since} />, found by <span className="mono wrap">{by}</span>
        </span>
      }
    >
      <div className="stack">
        <p className="wrap">{message}</p>
        {lines === null ? null : (
          <TableScroll>
            <table className="table diff">
              <caption className="visually-hidden">
                What the history recorded and what the code requested
              </caption>
              <thead>
                <tr>
                  <th scope="col">
                    {sequence === undefined ? null : (
                      <a
                        href={addressTo(
                          path,
                          new URLSearchParams({ tab: "history", event: String(sequence) }),
                        )}
                      >
                        Event {sequence}
                      </a>
                    )}
                  </th>
                  <th scope="col">− History holds</th>
                  <th scope="col">+ The code requested</th>
                </tr>
              </thead>
              <tbody>
                {lines.map(({ name, recorded, requested, isSame }) => (
                  <tr key={name} data-same={isSame}>
                    <th scope="row">{name}</th>
                    <td className="mono diff-old">{recorded ?? <Nothing />}</td>
                    <td className="mono diff-new">{requested ?? <Nothing />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableScroll>
        )}
        {source === undefined ? null : (
          <p>
            Requested at <code className="wrap">{source}</code>
          </p>
        )}
      </div>
    </Panel>
  );
}

function Nothing(): ReactElement {
  return <span className="faint">nothing</span>;
}
