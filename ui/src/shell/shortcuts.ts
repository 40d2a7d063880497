// Keyboard shortcuts of every page. They are off while the user types.

import { useEffect } from "react";
import { addressTo, go } from "../router/hash-location.ts";

export const SHORTCUTS: readonly { readonly keys: string; readonly does: string }[] = [
  { keys: "g o", does: "Overview" },
  { keys: "g i", does: "Instances" },
  { keys: "g q", does: "Queues" },
  { keys: "g s", does: "Schedules" },
  { keys: "g e", does: "Entities" },
  { keys: "g w", does: "Workers" },
  { keys: "/", does: "Search on this page" },
  { keys: "j k", does: "Next and previous row of a list; also the arrow keys" },
  { keys: "Enter", does: "Open the row" },
  { keys: "x", does: "Select the row" },
  { keys: "+ − 0", does: "Zoom a timeline; the arrow keys move it" },
  { keys: "?", does: "Show this list" },
];

const GOALS: Readonly<Record<string, readonly string[]>> = {
  o: [],
  i: ["instances"],
  q: ["queues"],
  s: ["schedules"],
  e: ["entities"],
  w: ["runtimes"],
};
const SECOND_KEY_MS = 1_000;

export function useShortcuts(onHelp: () => void): void {
  useEffect(() => {
    let wentAt = -Infinity;
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const goal = GOALS[event.key];
      if (goal !== undefined && event.timeStamp - wentAt < SECOND_KEY_MS) go(addressTo(goal));
      wentAt = event.key === "g" ? event.timeStamp : -Infinity;
      if (event.key === "?") onHelp();
      if (event.key !== "/") return;
      const search = document.querySelector<HTMLInputElement>("input[type=search]");
      if (search === null) return;
      event.preventDefault();
      search.focus();
      search.select();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [onHelp]);
}

/** Whether keys belong to an input or a dialog. Dialogs have their own keys. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.closest("input:not([type=checkbox]), textarea, select, dialog") !== null;
}
