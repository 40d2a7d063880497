// The fields of the filter. Each change goes to the address; text changes go there after a short delay.

import type { ReactElement } from "react";
import { Icon } from "../parts/icon.tsx";
import { STATUSES } from "../parts/status-badge.tsx";
import { addressTo, go, setQuery, useHashLocation } from "../router/hash-location.ts";
import { attributeOf, isEmptyFilter, type Filter } from "./filter.ts";
import { FilterText } from "./filter-text.tsx";

export function FilterBar({
  filter,
  order,
}: {
  readonly filter: Filter;
  readonly order: "newest" | "oldest";
}): ReactElement {
  const location = useHashLocation();
  const chosen = filter.status ?? [];
  return (
    <search className="filter-bar">
      <div className="filter-texts">
        <FilterText
          label="Id starts with"
          value={location.query.get("id") ?? ""}
          onValue={(id) => setQuery({ id })}
          type="search"
        />
        <FilterText
          label="Attributes"
          placeholder="customer=42"
          value={location.query.getAll("attribute").join(", ")}
          onValue={(text) => setQuery({ attribute: text.split(",").map((each) => each.trim()) })}
          isWrong={(text) =>
            text.trim() !== "" && text.split(",").some((each) => attributeOf(each).length === 0)
          }
          hint="name=value pairs, separated by commas"
        />
        <FilterText
          label="Name"
          value={location.query.get("name") ?? ""}
          onValue={(name) => setQuery({ name })}
        />
        <label className="field">
          <span>Order</span>
          <select
            className="input"
            value={order}
            onChange={(event) =>
              setQuery({ order: event.target.value === "oldest" ? "oldest" : null })
            }
          >
            <option value="newest">newest first</option>
            <option value="oldest">oldest first</option>
          </select>
        </label>
        <label className="field">
          <span>Created after</span>
          <input
            className="input"
            type="datetime-local"
            value={localTime(filter.createdAfter)}
            onChange={(event) => setQuery({ after: fromLocal(event.target.value) })}
          />
        </label>
        <label className="field">
          <span>Created before</span>
          <input
            className="input"
            type="datetime-local"
            value={localTime(filter.createdBefore)}
            onChange={(event) => setQuery({ before: fromLocal(event.target.value) })}
          />
        </label>
      </div>
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
        {typeof filter.parent === "string" ? (
          <button
            type="button"
            className="button chip"
            data-size="small"
            aria-pressed="true"
            onClick={() => setQuery({ parent: null })}
          >
            children of {filter.parent}
          </button>
        ) : null}
        {filter.version === undefined ? null : (
          <button
            type="button"
            className="button chip"
            data-size="small"
            aria-pressed="true"
            onClick={() => setQuery({ version: null })}
          >
            version {filter.version}
          </button>
        )}
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
    </search>
  );
}

/** The format of a datetime-local field: local time, to the minute. */
function localTime(iso: string | undefined): string {
  if (iso === undefined) return "";
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function fromLocal(text: string): string | null {
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
