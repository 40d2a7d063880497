// A hook that follows a stream.
//   - While the page is hidden, it holds no connection: browsers allow only six per server.
//   - A reader that does not follow the end gets no further entries once the tail is full, so that the rows on the
//     screen stay.

import { useEffect, useReducer, useRef, useState, useSyncExternalStore } from "react";
import { inspect } from "../../api/endpoints.ts";
import type { ApiProblem } from "../../api/problem.ts";
import { StreamSource, type SourceState } from "../../api/stream-source.ts";
import type { StreamEntry } from "../../api/types.ts";
import { NO_TAIL, nextOffset, withEntries, type Tail } from "./tail.ts";

export type TailState = SourceState | "paused" | "full" | "stopped" | "over";
export interface FollowedStream {
  readonly tail: Tail;
  readonly state: TailState;
  readonly problem: ApiProblem | undefined;
  readonly retry: () => void;
}

interface Received {
  readonly entries: readonly StreamEntry[];
  readonly keepsOldest: boolean;
}

export function useTail({
  id,
  name,
  from,
  settled,
  isPaused,
  isFollowing,
}: {
  readonly id: string;
  readonly name: string;
  readonly from: number;
  readonly settled: boolean;
  readonly isPaused: boolean;
  readonly isFollowing: boolean;
}): FollowedStream {
  const [tail, add] = useReducer(
    (before: Tail, { entries, keepsOldest }: Received) =>
      withEntries(before, entries, { keepsOldest }),
    NO_TAIL,
  );
  const [state, setState] = useState<SourceState>("connecting");
  const [problem, setProblem] = useState<ApiProblem>();
  const [tries, retry] = useReducer((count: number) => count + 1, 0);
  const isVisible = useSyncExternalStore(
    onVisibility,
    () => document.visibilityState === "visible",
  );
  const isHeld = tail.isFull && !isFollowing;
  const isOpen = isVisible && !isPaused && !isHeld && !tail.isOver;
  const latest = useRef({ next: from, isFollowing });
  useEffect(() => {
    latest.current = { next: nextOffset(tail) ?? from, isFollowing };
  }, [tail, from, isFollowing]);
  useEffect(() => {
    if (!isOpen) return undefined;
    setState("connecting");
    setProblem(undefined);
    const source = new StreamSource({
      path: inspect.streamPath(id, name),
      from: latest.current.next,
      settled,
      onEntries: (entries) => add({ entries, keepsOldest: !latest.current.isFollowing }),
      onState: setState,
      onProblem: setProblem,
    });
    return () => source.close();
  }, [id, name, settled, isOpen, tries]);
  const stateOf = (): TailState => {
    if (tail.isOver) return "over";
    if (isPaused) return "paused";
    if (isHeld) return "full";
    return problem === undefined ? state : "stopped";
  };
  return {
    tail,
    state: stateOf(),
    problem,
    retry,
  };
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}
