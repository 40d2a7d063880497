// Loads the rows of the list: a first page, more on scrolling, and updates of changed rows.
//   - One request at a time loads more rows. A new filter cancels the request in flight.

import { useCallback, useEffect, useRef, useState } from "react";
import { instances } from "../api/endpoints.ts";
import { asProblem, type ApiProblem } from "../api/problem.ts";
import { useChanges, anything } from "../api/use-changes.ts";
import type { Query } from "../api/request.ts";
import { withFirstPage, withLookedAt, withNextPage, type Rows } from "./merge.ts";

/** The first page is small, so that it appears quickly. */
const PAGE = 200;
const NEXT_PAGE = 500;
const REFRESH_MS = 1_000;
/**
 * If the first visible row is further down than this, an update loads the visible rows by id, not the first
 * page.
 */
const HEAD_ROWS = PAGE / 2;

export interface InstanceRows {
  readonly rows: Rows | null;
  readonly problem: ApiProblem | undefined;
  readonly isLoadingMore: boolean;
  readonly loadMore: () => void;
  readonly refresh: () => void;
}

/** `key` identifies the filter and order of `query`. `visible` returns the rows on the screen. */
export function useRows(
  key: string,
  query: Query,
  visible: () => { readonly first: number; readonly last: number },
): InstanceRows {
  const [state, setState] = useState<{ key: string; rows: Rows } | null>(null);
  const [problem, setProblem] = useState<ApiProblem>();
  const [isLoadingMore, setIsLoadingMore] = useState(false);
  const controller = useRef(new AbortController());
  const latest = useRef({ query, visible });
  useEffect(() => {
    latest.current = { query, visible };
  });
  const rows = state?.key === key ? state.rows : null;
  const rowsNow = useRef(rows);
  useEffect(() => {
    rowsNow.current = rows;
  });

  const load = useCallback(
    (work: (signal: AbortSignal) => Promise<(before: Rows) => Rows>) => {
      const { signal } = controller.current;
      return work(signal).then(
        (next) => {
          if (signal.aborted) return;
          setProblem(undefined);
          setState((before) => ({
            key,
            rows: next(before?.key === key ? before.rows : { items: [], cursor: undefined }),
          }));
        },
        (error: unknown) => {
          if (!signal.aborted) setProblem(asProblem(error));
        },
      );
    },
    [key],
  );

  const loadHead = useCallback(
    () =>
      load(async (signal) => {
        const page = await instances.list(
          { ...latest.current.query, waits: true, limit: PAGE },
          signal,
        );
        return (before) => withFirstPage(before, page);
      }),
    [load],
  );

  useEffect(() => {
    controller.current = new AbortController();
    setProblem(undefined);
    setIsLoadingMore(false);
    void loadHead();
    return () => controller.current.abort();
  }, [loadHead]);

  const refresh = useCallback(() => {
    const { first, last } = latest.current.visible();
    const now = rowsNow.current;
    if (now === null || first < HEAD_ROWS) {
      void loadHead();
      return;
    }
    const ids = now.items.slice(first, last + 1).map(({ id }) => id);
    void load(async (signal) => {
      const page = await instances.list({ id: ids, waits: true, limit: PAGE }, signal);
      return (before) => withLookedAt(before, ids, page.items);
    });
  }, [load, loadHead]);
  useChanges(anything, refresh, REFRESH_MS);

  const loadMore = useCallback(() => {
    const cursor = rowsNow.current?.cursor;
    if (cursor === undefined || isLoadingMore) return;
    setIsLoadingMore(true);
    const done = load(async (signal) => {
      const page = await instances.list(
        { ...latest.current.query, waits: true, limit: NEXT_PAGE, cursor },
        signal,
      );
      return (before) => withNextPage(before, page);
    });
    void done.then(() => setIsLoadingMore(false));
  }, [isLoadingMore, load]);

  return { rows, problem, isLoadingMore, loadMore, refresh };
}
