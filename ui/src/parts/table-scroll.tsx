// A table that scrolls sideways on a narrow screen. It is a tab stop, so that arrow keys can scroll it.

import type { ReactElement, ReactNode } from "react";

export function TableScroll({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <div className="table-scroll" role="group" aria-label="Table" tabIndex={0}>
      {children}
    </div>
  );
}
