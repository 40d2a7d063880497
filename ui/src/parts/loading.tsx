// A placeholder for content that is loading. It appears after a short delay, so that fast answers do not
// flicker.

import type { ReactElement } from "react";

export function Loading({ rows = 4 }: { readonly rows?: number }): ReactElement {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="skeleton" />
      ))}
    </div>
  );
}
