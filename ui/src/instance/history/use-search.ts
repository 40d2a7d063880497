// Searches a whole history page by page.
//   - It collects at most FOUND_MAX matches. With more matches the user must narrow the search.

import { useEffect, useState } from "react";
import { inspect } from "../../api/endpoints.ts";
import { asProblem, type ApiProblem } from "../../api/problem.ts";
import type { HistoryEvent } from "../../api/types.ts";
import { matches } from "./history-pages.ts";

const PAGE = 1_000;
/** How many characters of each payload are searched. Later characters of a longer payload are not found. */
const PAYLOAD_CHARS = 16_384;
export const FOUND_MAX = 2_000;

export interface Search {
  readonly found: readonly HistoryEvent[];
  readonly looked: number;
  readonly isDone: boolean;
  readonly problem: ApiProblem | undefined;
}
const NOTHING: Search = { found: [], looked: 0, isDone: false, problem: undefined };

export function useSearch(options: {
  readonly id: string;
  readonly execution: number;
  readonly text: string;
  readonly kinds: RegExp | null;
  readonly isOn: boolean;
}): Search {
  const { id, execution, text, kinds, isOn } = options;
  const [search, setSearch] = useState(NOTHING);
  useEffect(() => {
    setSearch(NOTHING);
    if (!isOn) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const look = async (): Promise<void> => {
      let after: number | undefined = 0;
      let found: readonly HistoryEvent[] = [];
      while (after !== undefined && found.length < FOUND_MAX) {
        const query = { execution, after, limit: PAGE, payloadChars: PAYLOAD_CHARS };
        const page = await inspect.history(id, query, signal);
        if (signal.aborted) return;
        found = [...found, ...page.events.filter((event) => matches(event, text, kinds))];
        const looked = page.events.at(-1)?.sequence ?? after;
        after = page.next;
        setSearch({ found, looked, isDone: after === undefined, problem: undefined });
      }
      setSearch((before) => ({ ...before, isDone: true }));
    };
    look().catch((error: unknown) => {
      if (!signal.aborted) {
        setSearch((before) => ({ ...before, isDone: true, problem: asProblem(error) }));
      }
    });
    return () => controller.abort();
  }, [id, execution, text, kinds, isOn]);
  return search;
}
