// One stream of changes for the whole page.
//   - All listeners share one connection, because browsers allow only six connections per server.
//   - After a reconnect every listener reloads everything, so that no change is missed.
//   - If the server refuses the stream, the page retries with exponential backoff.

import { addressOf } from "./request.ts";

export interface Change {
  readonly ids: readonly string[];
  /** Any instance may have changed: there were too many changes to list, or the list is unknown. */
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

/** Opens the stream. Call it after the login. */
export function openChanges(): void {
  closeChanges();
  const opened = new EventSource(addressOf("changes"));
  let isFirst = failures === 0;
  source = opened;
  opened.addEventListener("open", () => {
    failures = 0;
    setState("live");
    if (!isFirst) notify(EVERYTHING);
    isFirst = false;
  });
  opened.addEventListener("change", ({ data }: MessageEvent<string>) => {
    notify(JSON.parse(data) as Change); // the route's schema defines the type
  });
  opened.addEventListener("error", () => {
    setState("lost");
    // Unless it is closed, the EventSource reconnects by itself.
    if (opened.readyState !== EventSource.CLOSED || source !== opened) return;
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

function notify(change: Change): void {
  for (const listener of listeners) listener(change);
}

function setState(next: LiveState): void {
  if (next === state) return;
  state = next;
  for (const listener of stateListeners) listener();
}
