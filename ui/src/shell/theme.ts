// The theme: light, dark, or that of the system. The browser stores the choice.

import { useSyncExternalStore } from "react";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "perdure.theme";
const listeners = new Set<() => void>();
const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");
let theme: Theme = read();

systemIsDark.addEventListener("change", notify);

export function applyTheme(): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function setTheme(next: Theme): void {
  theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // Without local storage the choice lasts only as long as the page.
  }
  applyTheme();
  notify();
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => theme);
}

/** The effective theme. Drawings that read colours from the style sheet are redrawn when it changes. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, () =>
    theme === "system" ? systemIsDark.matches : theme === "dark",
  );
}

function read(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return THEMES.find((each) => each === stored) ?? "system";
  } catch {
    return "system";
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(): void {
  for (const listener of listeners) listener();
}
