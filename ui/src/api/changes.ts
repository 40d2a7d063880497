// What changes in the store, heard by one stream for the whole page.
//   CH1. One connection, however many listen: browsers allow six to a server.
//   CH2. After a gap every listener reloads everything, so that no change is missed.
//   CH3. A stream that the server refused is tried again, more and more rarely.

import { addressOf } from "./request.ts";

export interface Change {
  readonly ids: readonly string[];
  /** Look at everything: there was too much to name, or it is unknown. */
  readonly all: boolean;
}
export type LiveState = "connecting" | "live" | "lost";
type Listener = (change: Change) => void;

const EVERYTHING: Change = { ids: [], all: true };
const RETRY_MS = 2_000;
const RETRY_MAX_MS = 30_000;

const listeners = new Set<Listener>();
const stateListeners = new Set<() => void>();
let state: LiveState = "connecting";
let source: EventSource | null = null;
let retryTimer: ReturnType<typeof setTimeout> | undefined;
let failures = 0;

/** Begins to listen; call it after the login. */
export function openChanges(): void {
  closeChanges();
  const opened = new EventSource(addressOf("changes"));
  let isFirst = failures === 0;
  source = opened;
  opened.addEventListener("open", () => {
    failures = 0;
    setState("live");
    if (!isFirst) tell(EVERYTHING);
    isFirst = false;
  });
  opened.addEventListener("change", ({ data }: MessageEvent<string>) => {
    tell(JSON.parse(data) as Change); // the route's own schema
  });
  opened.addEventListener("error", () => {
    setState("lost");
    if (opened.readyState !== EventSource.CLOSED || source !== opened) return; // it tries again itself
    failures += 1;
    retryTimer = setTimeout(openChanges, Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MAX_MS));
  });
}

export function closeChanges(): void {
  clearTimeout(retryTimer);
  source?.close();
  source = null;
  setState("connecting");
}

export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function onLiveState(listener: () => void): () => void {
  stateListeners.add(listener);
  return () => stateListeners.delete(listener);
}

export function liveState(): LiveState {
  return state;
}

function tell(change: Change): void {
  for (const listener of listeners) listener(change);
}

function setState(next: LiveState): void {
  if (next === state) return;
  state = next;
  for (const listener of stateListeners) listener();
}
