// The search box and the fields of the filter. Each change goes to the address; the search follows after a short delay.
//   - On a phone the fields are hidden until the user opens them.

import { useId, useState, type ReactElement } from "react";
import { formatCount } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { setQuery, useHashLocation } from "../router/hash-location.ts";
import { FilterChips } from "./filter-chips.tsx";
import { ORDERS, type Filter, type Order } from "./filter.ts";
import { FilterText } from "./filter-text.tsx";
import { NameSelect } from "./name-select.tsx";
import { TimeFields } from "./time-fields.tsx";

export function FilterBar({
  filter,
  order,
}: {
  readonly filter: Filter;
  readonly order: Order;
}): ReactElement {
  const { query } = useHashLocation();
  const [isOpen, setIsOpen] = useState(false);
  const moreId = useId();
  const count = Object.keys({ ...filter, text: undefined, where: undefined }).length - 2;
  return (
    <search className="filter-bar">
      <div className="filter-first">
        <FilterText
          label="Search"
          placeholder="id, name or attribute; customer=42, cents>=1000"
          value={query.get("q") ?? ""}
          onValue={(q) => setQuery({ q })}
          type="search"
        />
        <button
          type="button"
          className="button filter-toggle"
          aria-expanded={isOpen}
          aria-controls={moreId}
          onClick={() => setIsOpen(!isOpen)}
        >
          <Icon name="down" />
          Filters{count === 0 ? "" : ` (${formatCount(count)})`}
        </button>
      </div>
      <div id={moreId} className="filter-more" data-open={isOpen}>
        <div className="filter-texts">
          <NameSelect selected={filter.name} />
          <TimeFields filter={filter} />
          <label className="field">
            <span>Order</span>
            <select
              className="input"
              value={order}
              onChange={({ target: { value } }) =>
                setQuery({ order: value === "newest" ? null : value })
              }
            >
              {Object.entries(ORDERS).map(([name, { title }]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        </div>
        <FilterChips filter={filter} />
      </div>
    </search>
  );
}
