// The list of instances. Only rows on the screen are in the document.
//   - One row is in the tab order. Arrow keys, j and k move from there, Enter opens a row, x and Space
//        select it.

import { useVirtualizer } from "@tanstack/react-virtual";
import {
  useCallback,
  useEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactElement,
} from "react";
import type { Query } from "../api/request.ts";
import { Empty } from "../parts/empty.tsx";
import { FirstInstance } from "../parts/first-instance.tsx";
import { formatCount } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { addressTo, go } from "../router/hash-location.ts";
import { InstanceRow } from "./instance-row.tsx";
import { isSelected, toggled, type Selection } from "./selection.ts";
import { useRowHeight } from "./use-row-height.ts";
import { useRows } from "./use-rows.ts";

const OVERSCAN = 12;
/** The column titles. Screen readers get the same information from the label of each row. */
const HEADS = {
  check: "",
  status: "Status",
  id: "Id",
  name: "Orchestration",
  waits: "Waits for, or error",
  more: "Details",
  time: "Created",
  elapsed: "Duration",
} as const;
/** The list loads more rows when this many rows are left below the screen. */
const AHEAD = 40;

export function InstanceList({
  listKey,
  query,
  total,
  isFiltered,
  selection,
  onSelect,
}: {
  readonly listKey: string;
  readonly query: Query;
  readonly total: number | undefined;
  readonly isFiltered: boolean;
  readonly selection: Selection;
  readonly onSelect: (update: (before: Selection) => Selection) => void;
}): ReactElement {
  const scroller = useRef<HTMLDivElement>(null);
  const range = useRef({ first: 0, last: 0 });
  const visible = useCallback(() => range.current, []);
  const { rows, problem, isLoadingMore, loadMore, refresh } = useRows(listKey, query, visible);
  const items = rows?.items ?? [];
  const rowHeight = useRowHeight();
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
  });
  useEffect(() => virtual.measure(), [virtual, rowHeight]);
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    range.current = { first: shown[0]?.index ?? 0, last };
    if (last >= items.length - AHEAD) loadMore();
  });

  const [active, setActive] = useState(0);
  useEffect(() => {
    setActive(0);
    scroller.current?.scrollTo(0, 0);
  }, [listKey]);
  const toggle = useCallback((id: string) => onSelect((before) => toggled(before, id)), [onSelect]);
  const focusRow = (index: number): void => {
    const next = Math.min(Math.max(index, 0), items.length - 1);
    setActive(next);
    virtual.scrollToIndex(next);
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus(),
    );
  };
  const press = (event: KeyboardEvent): void => {
    const item = items[active];
    if (event.ctrlKey || event.metaKey || event.altKey || item === undefined) return;
    if (event.target instanceof HTMLInputElement && event.key === " ") return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: active + 1,
      j: active + 1,
      ArrowUp: active - 1,
      k: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: items.length - 1,
    };
    const goal = moves[event.key];
    if (goal !== undefined) focusRow(goal);
    else if (event.key === "Enter") go(addressTo(["instances", item.id]));
    else if (event.key === "x" || event.key === " ") toggle(item.id);
    else return;
    event.preventDefault();
  };

  if (rows === null) {
    return problem === undefined ? (
      <Loading rows={8} />
    ) : (
      <ProblemNote problem={problem} retry={refresh} />
    );
  }
  return (
    <>
      {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
      <div className="panel list-box">
        <div className="list-head" aria-hidden="true">
          {(Object.keys(HEADS) as (keyof typeof HEADS)[]).map((head) => (
            <span key={head} className={`list-${head}`}>
              {HEADS[head]}
            </span>
          ))}
        </div>
        <div
          ref={scroller}
          className="list"
          role="grid"
          aria-label="Instances"
          aria-rowcount={total ?? -1}
          onKeyDown={press}
        >
          {items.length === 0 ? (
            isFiltered ? (
              <Empty title="No instance matches">Remove part of the filter.</Empty>
            ) : (
              <FirstInstance />
            )
          ) : (
            <div className="list-rows" style={{ height: virtual.getTotalSize() }}>
              {shown.map(({ index, start }) => {
                const item = items[index];
                if (item === undefined) return null;
                return (
                  <InstanceRow
                    key={item.id}
                    item={item}
                    index={index}
                    top={start}
                    height={rowHeight}
                    isActive={index === active}
                    isSelected={isSelected(selection, item.id)}
                    onToggle={toggle}
                    onFocus={setActive}
                  />
                );
              })}
            </div>
          )}
          <p className="list-foot" role="status">
            {isLoadingMore
              ? "Loading more…"
              : rows.cursor === undefined
                ? items.length > 20
                  ? "End of the list."
                  : ""
                : `${formatCount(items.length)} loaded; scroll for more.`}
          </p>
        </div>
      </div>
    </>
  );
}
