// Shows whether the page receives changes from the server.

import { useSyncExternalStore, type ReactElement } from "react";
import { liveState, onLiveState, type LiveState } from "../api/changes.ts";

const WORDS: Readonly<Record<LiveState, string>> = {
  connecting: "Connecting",
  live: "Live",
  lost: "Reconnecting",
};

export function LiveLight(): ReactElement {
  const state = useSyncExternalStore(onLiveState, liveState);
  return (
    <span className="live" data-state={state} role="status">
      {WORDS[state]}
    </span>
  );
}
