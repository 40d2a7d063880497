// The frame around every page: navigation, keyboard shortcuts, messages. A new page gets the focus, so that
// screen readers and keyboard users continue there.

import { useEffect, useRef, useState, useCallback, type ReactElement } from "react";
import { Toasts } from "../parts/toasts.tsx";
import { useHashLocation } from "../router/hash-location.ts";
import { Navigation } from "./navigation.tsx";
import { NoWorker } from "./no-worker.tsx";
import { PageOf } from "./page-of.tsx";
import { ShortcutHelp } from "./shortcut-help.tsx";
import { useShortcuts } from "./shortcuts.ts";

export function Shell({ onLogout }: { readonly onLogout: () => void }): ReactElement {
  const { path } = useHashLocation();
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  const showHelp = useCallback(() => setIsHelpOpen(true), []);
  useShortcuts(showHelp);
  const page = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const pageKey = path.join("/");
  useEffect(() => {
    if (isFirst.current) isFirst.current = false;
    else page.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [pageKey]);
  return (
    <div className="shell">
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          page.current?.focus();
        }}
      >
        Skip to content
      </a>
      <Navigation onHelp={showHelp} onLogout={onLogout} />
      <main ref={page} id="main" className="page" tabIndex={-1}>
        <NoWorker />
        <PageOf path={path} />
      </main>
      <Toasts />
      {isHelpOpen ? <ShortcutHelp onClose={() => setIsHelpOpen(false)} /> : null}
    </div>
  );
}
