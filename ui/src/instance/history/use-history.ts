// Loads the events of a history around the visible rows.

import { useEffect, useRef, useState } from "react";
import { inspect } from "../../api/endpoints.ts";
import { asProblem, type ApiProblem } from "../../api/problem.ts";
import { missingPages, PAGE, withEvents, type Events } from "./history-pages.ts";

/** Longer payloads are loaded when an event is opened. */
export const PAYLOAD_CHARS = 1_000;
const NONE: Events = new Map();

export function useHistory(
  id: string,
  execution: number,
  range: { readonly first: number; readonly last: number } | null,
): { readonly events: Events; readonly problem: ApiProblem | undefined } {
  const [events, setEvents] = useState(NONE);
  const [problem, setProblem] = useState<ApiProblem>();
  const asked = useRef(new Set<number>());
  const controller = useRef(new AbortController());
  useEffect(() => {
    controller.current = new AbortController();
    return () => controller.current.abort();
  }, []);
  const { first = 0, last = 0 } = range ?? {};
  useEffect(() => {
    if (last === 0) return;
    const { signal } = controller.current;
    for (const after of missingPages(events, { first, last })) {
      if (asked.current.has(after)) continue;
      asked.current.add(after);
      const query = { execution, after, limit: PAGE, payloadChars: PAYLOAD_CHARS };
      inspect.history(id, query, signal).then(
        (page) => {
          asked.current.delete(after);
          if (signal.aborted || page.events.length === 0) return;
          setProblem(undefined);
          setEvents((before) => withEvents(before, page.events));
        },
        (error: unknown) => {
          asked.current.delete(after);
          if (!signal.aborted) setProblem(asProblem(error));
        },
      );
    }
  }, [id, execution, first, last, events]);
  return { events, problem };
}
