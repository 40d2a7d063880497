// Shows attributes as labels.

import type { ReactElement } from "react";

export function AttributeTags({
  attributes,
}: {
  readonly attributes: Readonly<Record<string, string>>;
}): ReactElement | null {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return null;
  return (
    <span className="tags">
      {entries.map(([name, value]) => (
        <span key={name} className="tag" title={`${name}=${value}`}>
          {name}={value}
        </span>
      ))}
    </span>
  );
}
