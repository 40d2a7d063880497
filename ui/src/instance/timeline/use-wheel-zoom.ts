// Zooms with Ctrl or Cmd and the wheel, and by pinching, which browsers report as the same event.

import { useEffect, useRef, type RefObject } from "react";

export function useWheelZoom(
  element: RefObject<HTMLElement | null>,
  onZoom: (clientX: number, factor: number) => void,
): void {
  const latest = useRef(onZoom);
  useEffect(() => {
    latest.current = onZoom;
  });
  useEffect(() => {
    const target = element.current;
    if (target === null) return undefined;
    const turn = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      latest.current(event.clientX, Math.exp(event.deltaY / 300));
    };
    // React's wheel listeners are passive and cannot prevent the browser's own zoom.
    target.addEventListener("wheel", turn, { passive: false });
    return () => target.removeEventListener("wheel", turn);
  }, [element]);
}
