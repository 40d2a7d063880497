// Loads the timeline of an execution, and updates it when the instance changes.
//   - There is a pause between two updates, because the server computes each one from the whole history.

import { useEffect, useRef, useState } from "react";
import { inspect } from "../../api/endpoints.ts";
import { OneAtATime } from "../../api/one-at-a-time.ts";
import { asProblem, type ApiProblem } from "../../api/problem.ts";
import { changedAfter, NO_TIMELINE, withPage, type TimelineData } from "./timeline-data.ts";

export interface LoadedTimeline {
  readonly data: TimelineData;
  readonly isLoading: boolean;
  readonly problem: ApiProblem | undefined;
}

const REST_TIMES = 5;

/** `version` must change whenever the instance may have advanced. */
export function useTimeline(id: string, execution: number, version: string): LoadedTimeline {
  const [data, setData] = useState<TimelineData>(NO_TIMELINE);
  const [isLoading, setIsLoading] = useState(true);
  const [problem, setProblem] = useState<ApiProblem>();
  const loader = useRef<OneAtATime | null>(null);

  useEffect(() => {
    let current = NO_TIMELINE;
    const load = async (signal: AbortSignal): Promise<void> => {
      let next: number | undefined = changedAfter(current);
      while (next !== undefined) {
        const after: number = next;
        const page = await inspect.timeline(id, { execution, after }, signal);
        if (signal.aborted) return;
        current = withPage(current, after, page);
        setData(current);
        next = page.next;
      }
      setProblem(undefined);
      setIsLoading(false);
    };
    const made = new OneAtATime(
      (signal) =>
        load(signal).catch((error: unknown) => {
          if (signal.aborted) return;
          setProblem(asProblem(error));
          setIsLoading(false);
        }),
      REST_TIMES,
    );
    loader.current = made;
    return () => made.stop();
  }, [id, execution]);

  useEffect(() => loader.current?.ask(), [id, execution, version]);
  return { data, isLoading, problem };
}
