// A framed section of a page with a heading.

import { useId, type ReactElement, type ReactNode } from "react";

export function Panel({
  title,
  tools,
  tone,
  isFlush = false,
  children,
}: {
  readonly title: ReactNode;
  readonly tools?: ReactNode;
  readonly tone?: "danger" | "warn" | "blocked";
  /** Without padding: for tables and lists. */
  readonly isFlush?: boolean;
  readonly children: ReactNode;
}): ReactElement {
  const id = useId();
  return (
    <section className="panel" data-tone={tone} aria-labelledby={id}>
      <div className="panel-head">
        <h2 id={id}>{title}</h2>
        {tools}
      </div>
      {isFlush ? children : <div className="panel-body">{children}</div>}
    </section>
  );
}
