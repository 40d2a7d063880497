// Light, dark, or as the system is; kept in this browser.

import { useSyncExternalStore } from "react";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "perdure.theme";
const listeners = new Set<() => void>();
const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");
let theme: Theme = read();

systemIsDark.addEventListener("change", tell);

export function applyTheme(): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function setTheme(next: Theme): void {
  theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
  applyTheme();
  tell();
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => theme);
}

/** What is shown in the end; drawings that take colours from the style sheet are made anew when it changes. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, () =>
    theme === "system" ? systemIsDark.matches : theme === "dark",
  );
}

function read(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return THEMES.find((each) => each === kept) ?? "system";
  } catch {
    return "system";
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}
