// A hook that calls back after a relevant change, at most once per `everyMs`.
//   - The last change is never lost: a change that comes too early causes a later call.

import { useEffect, useRef } from "react";
import { onChange, type Change } from "./changes.ts";

export function useChanges(
  isOfInterest: (change: Change) => boolean,
  act: () => void,
  everyMs: number,
): void {
  const latest = useRef({ isOfInterest, act });
  useEffect(() => {
    latest.current = { isOfInterest, act };
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    const run = (): void => {
      timer = undefined;
      last = performance.now();
      latest.current.act();
    };
    const stop = onChange((change) => {
      if (timer !== undefined || !latest.current.isOfInterest(change)) return;
      timer = setTimeout(run, Math.max(0, everyMs - (performance.now() - last)));
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [everyMs]);
}

/** Matches every change. */
export function anything(): boolean {
  return true;
}
