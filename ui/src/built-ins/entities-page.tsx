// The entities by name, and the keys of one entity with their states.

import { useState, type ReactElement } from "react";
import { builtIns } from "../api/endpoints.ts";
import type { EntityPage as Page } from "../api/types.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { FilterText } from "../instances/filter-text.tsx";
import { Empty } from "../parts/empty.tsx";
import { formatCount, plural } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Panel } from "../parts/panel.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo, setQuery, useHashLocation } from "../router/hash-location.ts";
import { ValueBrief } from "../values/value-view.tsx";

const REFRESH_MS = 1_000;
const EVERY_MS = 10_000;
const KEYS_FIRST = 50;
const KEYS_MAX = 1_000;

export function EntitiesPage(): ReactElement {
  const { data, problem, refresh } = useLoaded("entities", builtIns.entities, {
    everyMs: EVERY_MS,
  });
  return (
    <>
      <header className="page-head">
        <h1>Entities</h1>
      </header>
      <div className="stack">
        {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
        {data === undefined ? (
          problem === undefined ? (
            <Loading rows={3} />
          ) : null
        ) : (
          <Panel title={plural(data.length, "entity", "entities")} isFlush>
            {data.length === 0 ? (
              <Empty title="No running worker registers an entity">
                An entity appears here when a worker registers it.
              </Empty>
            ) : (
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">Entity</th>
                    <th scope="col" className="number">
                      Keys
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {data.map(({ name, count }) => (
                    <tr key={name}>
                      <td>
                        <a className="mono wrap" href={addressTo(["entities", name])}>
                          {name}
                        </a>
                      </td>
                      <td className="number">{formatCount(count)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </Panel>
        )}
      </div>
    </>
  );
}

export function EntityPage({ name }: { readonly name: string }): ReactElement {
  const prefix = useHashLocation().query.get("key") ?? "";
  const [limit, setLimit] = useState(KEYS_FIRST);
  const query = { limit, ...(prefix === "" ? {} : { prefix }) };
  const { data, problem, refresh } = useLoaded(
    `entity ${JSON.stringify([name, query])}`,
    (signal) => builtIns.entityKeys(name, query, signal),
  );
  useChanges(anything, refresh, REFRESH_MS);
  return (
    <div className="stack">
      <header className="instance-head">
        <p className="crumbs">
          <a href={addressTo(["entities"])}>Entities</a> ›{" "}
          <a href={addressTo(["instances"], new URLSearchParams({ name }))}>
            instances of this entity
          </a>
        </p>
        <h1 className="mono wrap">{name}</h1>
      </header>
      <search>
        <FilterText
          label="Key starts with"
          value={prefix}
          onValue={(key) => setQuery({ key })}
          type="search"
        />
      </search>
      {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
      {data === undefined ? (
        problem === undefined ? (
          <Loading rows={4} />
        ) : null
      ) : (
        <Panel title="Keys, newest first" isFlush>
          {data.items.length === 0 ? <Empty title="No key matches" /> : <KeyTable page={data} />}
        </Panel>
      )}
      {data?.cursor === undefined || limit >= KEYS_MAX ? null : (
        <button type="button" className="button" onClick={() => setLimit(KEYS_MAX)}>
          Show up to {formatCount(KEYS_MAX)}
        </button>
      )}
    </div>
  );
}

function KeyTable({ page: { items } }: { readonly page: Page }): ReactElement {
  return (
    <TableScroll>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">State</th>
            <th scope="col">Changed</th>
          </tr>
        </thead>
        <tbody>
          {items.map(({ key, instance: { id, status, blocked, updatedAt }, ...rest }) => (
            <tr key={id}>
              <td>
                <div className="row">
                  <a className="mono wrap" href={addressTo(["instances", id])}>
                    {key}
                  </a>
                  {blocked !== undefined ? (
                    <StatusBadge status="blocked" />
                  ) : status === "running" || status === "pending" ? null : (
                    <StatusBadge status={status} />
                  )}
                </div>
              </td>
              <td className="wrap">
                {"state" in rest ? (
                  <ValueBrief value={rest.state} />
                ) : (
                  <span className="faint">as defined: no call has changed it</span>
                )}
              </td>
              <td>
                <TimeAgo at={updatedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
