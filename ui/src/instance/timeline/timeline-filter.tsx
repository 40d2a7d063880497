// The filter of the timeline: a search, only what is open, and a jump to what happens now. The address contains the filter.

import type { ReactElement } from "react";
import type { Span } from "../../api/types.ts";
import { FilterText } from "../../instances/filter-text.tsx";
import { setQuery, useHashLocation } from "../../router/hash-location.ts";
import { spanName } from "./span-words.ts";

export interface SpanFilter {
  readonly text: string;
  readonly isOpenOnly: boolean;
}

export function spanFilterOf(query: URLSearchParams): SpanFilter {
  return { text: query.get("q") ?? "", isOpenOnly: query.get("open") === "true" };
}

export function matchingSpans(
  spans: readonly Span[],
  { text, isOpenOnly }: SpanFilter,
): readonly Span[] {
  if (text === "" && !isOpenOnly) return spans;
  const wanted = text.toLowerCase();
  return spans.filter((span) => {
    if (isOpenOnly && span.outcome !== "open") return false;
    const { kind, name = "", id = "", message = "" } = span;
    const texts = [spanName(span), kind, name, id, message];
    return texts.some((each) => each.toLowerCase().includes(wanted));
  });
}

export function TimelineFilter({
  isLive,
  onNow,
}: {
  /** Whether the execution still runs. */
  readonly isLive: boolean;
  readonly onNow: () => void;
}): ReactElement {
  const { text, isOpenOnly } = spanFilterOf(useHashLocation().query);
  return (
    <search className="timeline-filter">
      <FilterText
        label="Search the timeline"
        value={text}
        onValue={(q) => setQuery({ q })}
        type="search"
        placeholder="name, kind, id or error"
      />
      <label className="row">
        <input
          type="checkbox"
          className="checkbox"
          checked={isOpenOnly}
          onChange={() => setQuery({ open: isOpenOnly ? null : "true" })}
        />
        Open only
      </label>
      {isLive ? (
        <button type="button" className="button" data-size="small" onClick={onNow}>
          Jump to now
        </button>
      ) : null}
    </search>
  );
}
