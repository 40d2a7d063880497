// The limiters on the page of queues: slots, holders and callers that wait, per key.

import type { ReactElement } from "react";
import { builtIns } from "../api/endpoints.ts";
import type { Limiter, LimiterKey } from "../api/types.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { formatCount, formatDuration, plural } from "../parts/format.ts";
import { InstanceLink } from "../parts/instance-link.tsx";
import { Panel } from "../parts/panel.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";

/** Not with every change: counting the callers that wait is expensive for the server. */
const EVERY_MS = 5_000;
const HOLDERS_SHOWN = 3;

/** Nothing, if no worker registers a limiter. */
export function LimitersPanel(): ReactElement | null {
  const { data, problem, refresh } = useLoaded("limiters", builtIns.limiters, {
    everyMs: EVERY_MS,
  });
  if (problem !== undefined) return <ProblemNote problem={problem} retry={refresh} />;
  if (data === undefined || data.length === 0) return null;
  return (
    <Panel title={plural(data.length, "limiter")} isFlush>
      <TableScroll>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Limiter</th>
              <th scope="col">Key</th>
              <th scope="col" className="number">
                In use
              </th>
              <th scope="col" className="number">
                Waiting
              </th>
              <th scope="col">Limit</th>
              <th scope="col">Holders</th>
            </tr>
          </thead>
          <tbody>
            {data.map((limiter) => (
              <Rows key={limiter.name} limiter={limiter} />
            ))}
          </tbody>
        </table>
      </TableScroll>
    </Panel>
  );
}

function Rows({ limiter: { name, keys, keyCount } }: { readonly limiter: Limiter }): ReactElement {
  if (keys.length === 0) {
    return (
      <tr>
        <td className="mono wrap">{name}</td>
        <td colSpan={5} className="faint">
          no caller
        </td>
      </tr>
    );
  }
  const all = addressTo(["instances"], new URLSearchParams({ name }));
  return (
    <>
      {keys.map((one) => (
        <KeyRow key={one.instance.id} name={name} one={one} />
      ))}
      {keyCount === keys.length ? null : (
        <tr>
          <td className="mono wrap">{name}</td>
          <td colSpan={5}>
            <a href={all}>{formatCount(keyCount - keys.length)} more keys</a>
          </td>
        </tr>
      )}
    </>
  );
}

function KeyRow({ name, one }: { readonly name: string; readonly one: LimiterKey }): ReactElement {
  const { key, instance, inUse, waiting, holders, nextAt } = one;
  const { id, status, blocked } = instance;
  const shown = holders.slice(0, HOLDERS_SHOWN);
  return (
    <tr>
      <td>
        <div className="row">
          <a className="mono wrap" href={addressTo(["instances", id])}>
            {name}
          </a>
          {blocked !== undefined ? (
            <StatusBadge status="blocked" />
          ) : status === "paused" ? (
            <StatusBadge status="paused" />
          ) : null}
        </div>
      </td>
      <td className="mono wrap">{key ?? <span className="faint">no key</span>}</td>
      <td className="number">{formatCount(inUse)}</td>
      <td className="number">{waiting === undefined ? "" : formatCount(waiting)}</td>
      <td>
        {limitWords(one)}
        {nextAt === undefined ? null : (
          <span className="faint">
            {" "}
            next <TimeAgo at={nextAt} />
          </span>
        )}
      </td>
      <td>
        {shown.map((holder) => (
          <div key={holder}>
            <InstanceLink id={holder} />
          </div>
        ))}
        {inUse <= shown.length ? null : (
          <span className="faint">and {formatCount(inUse - shown.length)} more</span>
        )}
      </td>
    </tr>
  );
}

function limitWords({ concurrency, rate }: LimiterKey): string {
  return [
    ...(concurrency === undefined ? [] : [`${formatCount(concurrency)} at a time`]),
    ...(rate === undefined ? [] : [`${formatCount(rate.count)} per ${formatDuration(rate.perMs)}`]),
  ].join(", ");
}
