// The time range of the filter: one of the usual ranges, or a begin and an end.

import { useState, type ReactElement } from "react";
import { setQuery, useHashLocation } from "../router/hash-location.ts";
import type { Filter } from "./filter.ts";
import { RANGES } from "./time-range.ts";

const BETWEEN = "between";
const NONE = { created: null, ended: null, after: null, before: null } as const;

export function TimeFields({ filter }: { readonly filter: Filter }): ReactElement {
  const { query } = useHashLocation();
  const [isBetween, setIsBetween] = useState(false);
  const created = query.get("created");
  const ended = query.get("ended");
  const hasTimes = query.has("after") || query.has("before");
  const selected =
    created !== null
      ? `created ${created}`
      : ended !== null
        ? `ended ${ended}`
        : isBetween || hasTimes
          ? BETWEEN
          : "";
  const select = (value: string): void => {
    setIsBetween(value === BETWEEN);
    const [kind = "", range = ""] = value.split(" ");
    if (value !== BETWEEN) setQuery({ ...NONE, ...(range === "" ? {} : { [kind]: range }) });
    else setQuery({ created: null, ended: null });
  };
  return (
    <>
      <label className="field">
        <span>Time</span>
        <select
          className="input"
          value={selected}
          onChange={({ target: { value } }) => select(value)}
        >
          <option value="">any time</option>
          {["created", "ended"].map((kind) => (
            <optgroup key={kind} label={kind}>
              {Object.entries(RANGES).map(([name, { title }]) => (
                <option key={name} value={`${kind} ${name}`}>
                  {kind} in the {title}
                </option>
              ))}
            </optgroup>
          ))}
          <option value={BETWEEN}>created between…</option>
        </select>
      </label>
      {selected !== BETWEEN ? null : (
        <>
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
        </>
      )}
    </>
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
