// Blocked and failed instances: one row per name, version and cause, with the count and the newest of them.

import { useState, type ReactElement } from "react";
import { defined } from "../../../src/core/values/defined.ts";
import type { Metrics, Overview, TroubleGroup } from "../api/types.ts";
import { formatCount, plural, shortVersion } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { InstanceLink } from "../parts/instance-link.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";

const SHOWN_FIRST = 6;

export function TroubleRows({
  troubles: { groups, looked },
  metrics,
}: {
  readonly troubles: Overview["troubles"];
  readonly metrics: Metrics;
}): ReactElement {
  const [limit, setLimit] = useState(SHOWN_FIRST);
  const unseen = [
    ["blocked", metrics.blocked, looked.blocked],
    ["failed", metrics.instances.failed, looked.failed],
  ] as const;
  return (
    <>
      {groups.slice(0, limit).map((group) => (
        <TroubleRow key={`${group.kind} ${group.newestId}`} group={group} />
      ))}
      {groups.length <= limit ? null : (
        <li>
          <button
            type="button"
            className="button"
            data-size="small"
            onClick={() => setLimit(limit * 10)}
          >
            {plural(groups.length - limit, "more cause")}
          </button>
        </li>
      )}
      {unseen.map(([kind, all, seen]) =>
        seen === 0 || all <= seen ? null : (
          <li key={kind} className="muted">
            Causes are those of the newest {formatCount(seen)} of {formatCount(all)} {kind}{" "}
            instances.
          </li>
        ),
      )}
    </>
  );
}

function TroubleRow({ group }: { readonly group: TroubleGroup }): ReactElement {
  const { kind, name, version, cause, message, count, newestId, newestAt } = group;
  const state = kind === "blocked" ? { blocked: "true" } : { status: "failed" };
  const query = new URLSearchParams({
    ...state,
    name,
    ...defined({ version }),
  });
  return (
    <li data-status={kind}>
      <Icon name={kind === "blocked" ? "lock" : "cross"} />
      <div className="grow">
        <a className="in-text" href={addressTo(["instances"], query)}>
          <strong>{formatCount(count)}</strong> {kind}
        </a>
        : {name} <span className="faint">{shortVersion(version)}</span>, <strong>{cause}</strong>
        <p className="muted attention-text">{message}</p>
        <p className="faint attention-newest">
          {count === 1 ? "Instance" : "Newest"}: <InstanceLink id={newestId} />
        </p>
      </div>
      <TimeAgo at={newestAt} />
    </li>
  );
}
