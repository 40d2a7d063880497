// Short messages about completed actions. Any part of the page can show one with `toast`.

import { useEffect, useSyncExternalStore, type ReactElement } from "react";
import { Icon } from "./icon.tsx";

interface Toast {
  readonly id: number;
  readonly tone: "good" | "warn" | "danger";
  readonly text: string;
}

const SHOWN_MS = 6_000;
const TOASTS_MAX = 3;
const listeners = new Set<() => void>();
let toasts: readonly Toast[] = [];
let count = 0;

export function toast(text: string, tone: Toast["tone"] = "good"): void {
  toasts = [...toasts, { id: ++count, tone, text }].slice(-TOASTS_MAX);
  notify();
}

export function Toasts(): ReactElement {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((each) => (
        <ToastView key={each.id} toast={each} />
      ))}
    </div>
  );
}

function ToastView({ toast: { id, tone, text } }: { readonly toast: Toast }): ReactElement {
  useEffect(() => {
    const timer = setTimeout(() => dismiss(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id]);
  return (
    <div className="toast" data-tone={tone}>
      <span className="grow">{text}</span>
      <button
        type="button"
        className="button"
        data-kind="quiet"
        data-size="small"
        aria-label="Dismiss"
        onClick={() => dismiss(id)}
      >
        <Icon name="cross" />
      </button>
    </div>
  );
}

function dismiss(id: number): void {
  toasts = toasts.filter((each) => each.id !== id);
  notify();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(): void {
  for (const listener of listeners) listener();
}
