// A select with the names of the instances in the store, and how many instances have each name.

import type { ReactElement } from "react";
import { instances } from "../api/endpoints.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { formatCount } from "../parts/format.ts";
import { setQuery } from "../router/hash-location.ts";

const EVERY_MS = 30_000;

export function NameSelect({ selected }: { readonly selected: string | undefined }): ReactElement {
  const { data = [] } = useLoaded("names", instances.names, { everyMs: EVERY_MS });
  const isKnown = selected === undefined || data.some(({ name }) => name === selected);
  return (
    <label className="field">
      <span>Name</span>
      <select
        className="input"
        value={selected ?? ""}
        onChange={({ target: { value } }) => setQuery({ name: value })}
      >
        <option value="">all names</option>
        {isKnown ? null : <option value={selected}>{selected}</option>}
        {data.map(({ name, count }) => (
          <option key={name} value={name}>
            {name} ({formatCount(count)})
          </option>
        ))}
      </select>
    </label>
  );
}
