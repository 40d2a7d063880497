// The chips of the filter: statuses and flags to switch, and parts of the filter that came with a link.

import type { ReactElement } from "react";
import { Icon } from "../parts/icon.tsx";
import { STATUSES } from "../parts/status-badge.tsx";
import { addressTo, go, setQuery, useHashLocation } from "../router/hash-location.ts";
import { isEmptyFilter, type Filter } from "./filter.ts";

export function FilterChips({ filter }: { readonly filter: Filter }): ReactElement {
  const { query } = useHashLocation();
  const chosen = filter.status ?? [];
  const linked = [
    ...(typeof filter.parent === "string"
      ? [{ title: `children of ${filter.parent}`, remove: { parent: null } }]
      : []),
    ...(filter.version === undefined
      ? []
      : [{ title: `version ${filter.version}`, remove: { version: null } }]),
    ...(filter.idPrefix === undefined
      ? []
      : [{ title: `id ${filter.idPrefix}*`, remove: { id: null } }]),
    ...(filter.attributes === undefined
      ? []
      : [{ title: query.getAll("attribute").join(", "), remove: { attribute: null } }]),
  ];
  return (
    <div className="filter-chips" role="group" aria-label="Status">
      {STATUSES.map((status) => {
        const isOn = chosen.includes(status);
        const next = isOn ? chosen.filter((each) => each !== status) : [...chosen, status];
        return (
          <button
            key={status}
            type="button"
            className="button chip"
            data-size="small"
            data-status={status}
            aria-pressed={isOn}
            onClick={() => setQuery({ status: next })}
          >
            {status}
          </button>
        );
      })}
      <button
        type="button"
        className="button chip"
        data-size="small"
        data-status="blocked"
        aria-pressed={filter.blocked === true}
        onClick={() => setQuery({ blocked: filter.blocked === true ? null : "true" })}
      >
        blocked
      </button>
      <button
        type="button"
        className="button chip"
        data-size="small"
        aria-pressed={filter.parent === null}
        onClick={() => setQuery({ root: filter.parent === null ? null : "true", parent: null })}
      >
        roots only
      </button>
      {linked.map(({ title, remove }) => (
        <button
          key={title}
          type="button"
          className="button chip"
          data-size="small"
          aria-pressed="true"
          onClick={() => setQuery(remove)}
        >
          {title}
        </button>
      ))}
      {isEmptyFilter(filter) ? null : (
        <button
          type="button"
          className="button"
          data-kind="quiet"
          data-size="small"
          onClick={() => go(addressTo(["instances"]), { replace: true })}
        >
          <Icon name="cross" />
          Clear
        </button>
      )}
    </div>
  );
}
