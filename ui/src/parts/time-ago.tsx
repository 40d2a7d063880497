// Shows a time relative to now: "5 min ago", "in 2 h". The tooltip shows the exact time.

import type { ReactElement } from "react";
import { formatDateTime, formatDuration } from "./format.ts";
import { useNow } from "./use-now.ts";

export function TimeAgo({ at }: { readonly at: string }): ReactElement {
  const distance = useNow() - Date.parse(at);
  return (
    <time dateTime={at} title={formatDateTime(at)}>
      {words(distance)}
    </time>
  );
}

function words(distance: number): string {
  if (Math.abs(distance) < 2_000) return "just now";
  const text = coarse(Math.abs(distance));
  return distance > 0 ? `${text} ago` : `in ${text}`;
}

/** A duration in one unit. */
function coarse(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 48 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`;
  return formatDuration(Math.floor(ms / 86_400_000) * 86_400_000);
}
