// Time ranges of the filter: the last hours or days, by creation or by end.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const RANGES: Readonly<Record<string, { readonly title: string; readonly ms: number }>> = {
  "15m": { title: "last 15 minutes", ms: 15 * MINUTE },
  "1h": { title: "last hour", ms: HOUR },
  "24h": { title: "last 24 hours", ms: DAY },
  "7d": { title: "last 7 days", ms: 7 * DAY },
  "30d": { title: "last 30 days", ms: 30 * DAY },
};

/** The begin of the range, as ISO text. Null: the text does not name a range. */
export function rangeBegin(name: string | null, now: number): string | null {
  const range = name !== null && Object.hasOwn(RANGES, name) ? RANGES[name] : undefined;
  return range === undefined ? null : new Date(now - range.ms).toISOString();
}
