// A hook that loads data from the server.
//   - The previous data stays visible while newer data is loading, even when a page is opened again.
//   - When the component no longer needs an answer, the hook aborts the request and ignores the answer.

import { useCallback, useEffect, useRef, useState } from "react";
import { OneAtATime } from "./one-at-a-time.ts";
import { asProblem, type ApiProblem } from "./problem.ts";

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly problem: ApiProblem | undefined;
  /** True until the first answer or error. */
  readonly isLoading: boolean;
  /** Loads the data again. */
  readonly refresh: () => void;
}

const CACHED_MAX = 50;
const cache = new Map<string, unknown>();

interface State<T> {
  readonly key: string | null;
  readonly data: T | undefined;
  readonly problem: ApiProblem | undefined;
  readonly isLoading: boolean;
}

/** `key` identifies the data; null loads nothing. The hook calls `load` when the key changes. */
export function useLoaded<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  options: { readonly everyMs?: number } = {},
): Loaded<T> {
  const [state, setState] = useState<State<T>>(() => initial<T>(key));
  const latest = useRef(load);
  useEffect(() => {
    latest.current = load;
  });
  const loader = useRef<OneAtATime | null>(null);

  useEffect(() => {
    if (key === null) return undefined;
    const made = new OneAtATime(async (signal) => {
      try {
        const data = await latest.current(signal);
        if (signal.aborted) return;
        remember(key, data);
        setState({ key, data, problem: undefined, isLoading: false });
      } catch (error) {
        if (signal.aborted) return;
        setState((before) => ({
          ...(before.key === key ? before : initial<T>(key)),
          problem: asProblem(error),
          isLoading: false,
        }));
      }
    });
    loader.current = made;
    made.ask();
    return () => made.stop();
  }, [key]);

  const refresh = useCallback(() => loader.current?.ask(), []);
  const { everyMs } = options;
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") refresh();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, refresh]);

  const { data, problem, isLoading } = state.key === key ? state : initial<T>(key);
  return { data, problem, isLoading, refresh };
}

/** Clears the cache: another user may see other data. */
export function forgetLoaded(): void {
  cache.clear();
}

function initial<T>(key: string | null): State<T> {
  const data = key === null ? undefined : (cache.get(key) as T | undefined); // the key determines the type
  return { key, data, problem: undefined, isLoading: key !== null };
}

function remember(key: string, data: unknown): void {
  cache.delete(key);
  cache.set(key, data);
  if (cache.size <= CACHED_MAX) return;
  const oldest = cache.keys().next().value;
  if (oldest !== undefined) cache.delete(oldest);
}
