// Something from the server, kept as long as a component shows it.
//   LD1. What was there stays while something newer is on its way, also when a page is opened again.
//   LD2. An answer that is no longer wanted changes nothing: its request is aborted.

import { useCallback, useEffect, useRef, useState } from "react";
import { OneAtATime } from "./one-at-a-time.ts";
import { asProblem, type ApiProblem } from "./problem.ts";

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly problem: ApiProblem | undefined;
  /** Until the first answer, good or bad. */
  readonly isLoading: boolean;
  /** Asks again. */
  readonly refresh: () => void;
}

const KEPT_MAX = 50;
const kept = new Map<string, unknown>();

interface State<T> {
  readonly key: string | null;
  readonly data: T | undefined;
  readonly problem: ApiProblem | undefined;
  readonly isLoading: boolean;
}

/** `key` names what is loaded; null loads nothing. `load` is asked when the key changes. */
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
        keep(key, data);
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

/** Forgets everything: another caller may see other things. */
export function forgetLoaded(): void {
  kept.clear();
}

function initial<T>(key: string | null): State<T> {
  const data = key === null ? undefined : (kept.get(key) as T | undefined); // kept under this very key
  return { key, data, problem: undefined, isLoading: key !== null };
}

function keep(key: string, data: unknown): void {
  kept.delete(key);
  kept.set(key, data);
  if (kept.size <= KEPT_MAX) return;
  const oldest = kept.keys().next().value;
  if (oldest !== undefined) kept.delete(oldest);
}
