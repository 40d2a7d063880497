// The height of a row: one line on a wide screen, three lines on a narrow one.

import { useSyncExternalStore } from "react";

const narrow = window.matchMedia("(max-width: 820px)");

export function useRowHeight(): number {
  return useSyncExternalStore(subscribe, () => (narrow.matches ? 90 : 44));
}

function subscribe(listener: () => void): () => void {
  narrow.addEventListener("change", listener);
  return () => narrow.removeEventListener("change", listener);
}
