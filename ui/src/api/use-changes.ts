// Calls back when something of interest has changed, not more often than asked for.
//   UC1. The last change is never lost: what comes too early is called for later.

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

/** Whatever changes, everywhere. */
export function anything(): boolean {
  return true;
}
