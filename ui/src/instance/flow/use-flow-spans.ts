// Loads the spans of a flow from its execution and from the previous executions that it continues.
//   - A long flow continues as a new execution with its state (semantics 26). The work of its nodes is in
//        both.

import { useEffect, useState } from "react";
import { inspect } from "../../api/endpoints.ts";
import { asProblem, type ApiProblem } from "../../api/problem.ts";
import type { Span } from "../../api/types.ts";
import { useTimeline } from "../timeline/use-timeline.ts";

/** The most previous executions that are read. */
const BACK_MAX = 20;

export function useFlowSpans(
  id: string,
  execution: number,
  version: string,
): { readonly spans: readonly Span[]; readonly problem: ApiProblem | undefined } {
  const current = useTimeline(id, execution, version);
  const [earlier, setEarlier] = useState<readonly Span[]>([]);
  const [problem, setProblem] = useState<ApiProblem>();
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const look = async (): Promise<void> => {
      const spans: Span[] = [];
      for (let number = execution; number > 1 && execution - number < BACK_MAX; number--) {
        const start = await inspect.event(id, 1, number, signal);
        if (start.state === undefined) break; // a restart: earlier executions belong to another run
        const page = await inspect.timeline(id, { execution: number - 1 }, signal);
        spans.unshift(...page.spans.filter(({ outcome }) => outcome !== "cancelled"));
      }
      if (!signal.aborted) setEarlier(spans);
    };
    look().catch((error: unknown) => {
      if (!signal.aborted) setProblem(asProblem(error));
    });
    return () => controller.abort();
  }, [id, execution]);
  return { spans: [...earlier, ...current.data.spans], problem: current.problem ?? problem };
}
