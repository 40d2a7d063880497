// The spans of a flow: those of the execution, and of the ones before it that it carries on from.
//   FS1. A long flow goes on as a new execution with what it knows (semantics 26); its nodes' work lies in both.

import { useEffect, useState } from "react";
import { inspect } from "../../api/endpoints.ts";
import { asProblem, type ApiProblem } from "../../api/problem.ts";
import type { Span } from "../../api/types.ts";
import { useTimeline } from "../timeline/use-timeline.ts";

/** Executions looked back at. */
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
        if (start.state === undefined) break; // a restart: what was before is another run
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
