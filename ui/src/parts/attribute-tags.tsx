// Shows attributes as labels.

import type { ReactElement } from "react";
import type { Attributes, AttributeShape } from "../api/types.ts";
import { formatDateTime } from "./format.ts";

export function AttributeTags({
  attributes,
}: {
  readonly attributes: Attributes;
}): ReactElement | null {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return null;
  return (
    <span className="tags">
      {entries.map(([name, value]) => (
        <span key={name} className="tag" title={`${name}=${attributeText(value)}`}>
          {name}={attributeText(value)}
        </span>
      ))}
    </span>
  );
}

export function attributeText(value: AttributeShape): string {
  return typeof value === "object" ? formatDateTime(value.date) : String(value);
}
