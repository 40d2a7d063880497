// The tab with all events of a history, with search.

import { useState, type ReactElement } from "react";
import { Empty } from "../../parts/empty.tsx";
import { formatCount, plural } from "../../parts/format.ts";
import { Loading } from "../../parts/loading.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";
import { setQuery, useHashLocation } from "../../router/hash-location.ts";
import { FilterText } from "../../instances/filter-text.tsx";
import { ForkDialog } from "../repair/fork-dialog.tsx";
import { GROUPS } from "./event-words.ts";
import { EventList } from "./event-list.tsx";
import { useHistory } from "./use-history.ts";
import { FOUND_MAX, useSearch } from "./use-search.ts";

export function HistoryTab({
  id,
  execution,
  events: total,
}: {
  readonly id: string;
  readonly execution: number;
  readonly events: number | undefined;
}): ReactElement {
  const location = useHashLocation();
  const text = (location.query.get("q") ?? "").toLowerCase();
  const group = location.query.get("kind") ?? "";
  const kinds = GROUPS[group] ?? null;
  const isSearch = text !== "" || kinds !== null;
  const [range, setRange] = useState<{ first: number; last: number } | null>(null);
  const [forkBefore, setForkBefore] = useState<number | null>(null);
  const history = useHistory(id, execution, isSearch ? null : range);
  const search = useSearch({ id, execution, text, kinds, isOn: isSearch });
  const opened = Number(location.query.get("event") ?? NaN);
  const open = (sequence: number | null): void =>
    setQuery({ event: sequence === null ? null : String(sequence) });
  const problem = isSearch ? search.problem : history.problem;
  return (
    <div className="panel">
      <search className="history-tools">
        <FilterText
          label="Search in events and payloads"
          type="search"
          value={location.query.get("q") ?? ""}
          onValue={(q) => setQuery({ q })}
        />
        <label className="field">
          <span>Kind</span>
          <select
            className="input"
            value={kinds === null ? "" : group}
            onChange={(event) => setQuery({ kind: event.target.value })}
          >
            <option value="">all kinds</option>
            {Object.keys(GROUPS).map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <p className="hint" role="status">
          {isSearch
            ? `${plural(search.found.length, "event")} found${search.isDone ? "" : `, ${formatCount(search.looked)} searched so far`}${search.found.length >= FOUND_MAX ? "; narrow the search to see others" : ""}`
            : total === undefined
              ? ""
              : plural(total, "event")}
        </p>
      </search>
      {problem === undefined ? null : <ProblemNote problem={problem} />}
      {isSearch ? (
        search.found.length === 0 ? (
          search.isDone ? (
            <Empty icon="search" title="No event matches" />
          ) : (
            <Loading />
          )
        ) : (
          <EventList
            key={`${text} ${group}`}
            id={id}
            execution={execution}
            count={search.found.length}
            eventAt={(index) => search.found[index]}
            bySequence={(sequence) => search.found.find((each) => each.sequence === sequence)}
            opened={opened}
            onOpen={open}
            onFork={setForkBefore}
          />
        )
      ) : total === undefined ? (
        <Loading />
      ) : total === 0 ? (
        <Empty icon="clock" title="Nothing has happened yet">
          The first turn has not run yet.
        </Empty>
      ) : (
        <EventList
          id={id}
          execution={execution}
          count={total}
          eventAt={(index) => history.events.get(index + 1)}
          bySequence={(sequence) => history.events.get(sequence)}
          opened={opened}
          onOpen={open}
          onFork={setForkBefore}
          onRange={setRange}
        />
      )}
      {forkBefore === null ? null : (
        <ForkDialog
          id={id}
          execution={execution}
          before={forkBefore}
          onClose={() => setForkBefore(null)}
        />
      )}
    </div>
  );
}
