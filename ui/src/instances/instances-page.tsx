// The instances page. The address contains its filter.

import { useCallback, useMemo, useState, type ReactElement } from "react";
import { instances } from "../api/endpoints.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { formatCount } from "../parts/format.ts";
import { useHashLocation } from "../router/hash-location.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { filterOf, isEmptyFilter, orderOf, ORDERS, queryOf } from "./filter.ts";
import { InstanceList } from "./instance-list.tsx";
import { NO_SELECTION, type Selection } from "./selection.ts";
import { StartButton } from "./start-button.tsx";

const COUNT_MS = 3_000;

export function InstancesPage(): ReactElement {
  const { query } = useHashLocation();
  // Once per address: a relative time range must not make a new list with every render.
  const filter = useMemo(() => filterOf(query), [query]);
  const order = orderOf(query);
  const asked = queryOf(filter);
  const key = JSON.stringify([asked, order]);
  const count = useLoaded(`count ${JSON.stringify(asked)}`, (signal) =>
    instances.count(asked, signal),
  );
  useChanges(anything, count.refresh, COUNT_MS);
  const [chosen, setChosen] = useState<{ key: string; selection: Selection } | null>(null);
  const selection = chosen?.key === key ? chosen.selection : NO_SELECTION;
  const select = useCallback(
    (update: (before: Selection) => Selection) =>
      setChosen((before) => ({
        key,
        selection: update(before?.key === key ? before.selection : NO_SELECTION),
      })),
    [key],
  );
  return (
    <div className="instances-page">
      <header className="page-head">
        <h1>
          Instances
          <span className="page-count">
            {count.data === undefined ? "" : formatCount(count.data)}
          </span>
        </h1>
        <StartButton />
      </header>
      <FilterBar filter={filter} order={order} />
      <BulkBar
        filter={filter}
        count={count.data}
        selection={selection}
        onSelect={select}
        onDone={count.refresh}
      />
      <InstanceList
        listKey={key}
        query={{ ...asked, ...ORDERS[order].query }}
        total={count.data}
        isFiltered={!isEmptyFilter(filter)}
        selection={selection}
        onSelect={select}
      />
    </div>
  );
}
