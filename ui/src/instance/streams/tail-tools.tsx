// The state of a tail, with buttons to pause it and to go to its end.

import type { ReactElement, ReactNode } from "react";
import { formatCount, plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icon.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";
import { ROWS_MAX } from "./tail.ts";
import type { FollowedStream, TailState } from "./use-tail.ts";

const WORDS: Readonly<Record<TailState, string>> = {
  connecting: "Connecting",
  live: "Live",
  lost: "Connection lost, trying again",
  paused: "Paused",
  full: "Paused: more entries follow",
  stopped: "Stopped",
  over: "Complete: the stream has ended",
};

export function TailTools({
  stream: { tail, state, problem, retry },
  isFollowing,
  onPaused,
  onNewest,
  children,
}: {
  readonly stream: FollowedStream;
  readonly isFollowing: boolean;
  readonly onPaused: (isPaused: boolean) => void;
  readonly onNewest: () => void;
  readonly children?: ReactNode;
}): ReactElement {
  const isPaused = state === "paused";
  return (
    <>
      <div className="history-tools tail-tools">
        {children}
        <p className="hint grow">
          <span role="status" data-state={state} className="tail-state">
            {WORDS[state]}
          </span>
          {tail.dropped === 0
            ? null
            : `. The page keeps the newest ${formatCount(Math.min(tail.rows.length, ROWS_MAX))}; ${plural(tail.dropped, "older entry", "older entries")} not shown.`}
        </p>
        {state === "over" ? null : (
          <button
            type="button"
            className="button"
            data-size="small"
            aria-pressed={isPaused}
            onClick={() => onPaused(!isPaused)}
          >
            <Icon name={isPaused ? "play" : "pause"} />
            Pause the view
          </button>
        )}
        <button
          type="button"
          className="button"
          data-size="small"
          disabled={isFollowing || tail.rows.length === 0}
          onClick={onNewest}
        >
          <Icon name="down" />
          Newest
        </button>
      </div>
      {problem === undefined ? null : <ProblemNote problem={problem} retry={retry} />}
    </>
  );
}
