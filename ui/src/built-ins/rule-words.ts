// Texts about the rule of a schedule and the outcome of a scheduled time.

import type { Schedule } from "../api/types.ts";
import { formatDuration } from "../parts/format.ts";

type Rule = NonNullable<Schedule["rule"]>;

/** When the schedule starts runs: `0 3 * * * (Europe/Berlin)`, `every 5 min`. */
export function timesWords({ cron, everyMs, timezone }: Rule): string {
  if (cron !== undefined) return `${cron} (${timezone})`;
  return everyMs === undefined ? "" : `every ${formatDuration(everyMs)}`;
}

const OVERLAP: Readonly<Record<string, string>> = {
  skip: "skips a time while the previous run is running",
  allow: "starts the next run while the previous one is running",
  cancel: "cancels the previous run",
};
const MISSED: Readonly<Record<string, string>> = {
  latest: "only the last missed time runs later",
  all: "every missed time runs later",
};
const OUTCOMES: Readonly<Record<string, string>> = {
  started: "started",
  skipped: "skipped: the previous run was still running",
  late: "skipped: it was too late",
  failed: "could not be started",
};

export function overlapWords({ overlap }: Rule): string {
  return OVERLAP[overlap] ?? overlap;
}

export function missedWords({ missed, maxLatenessMs }: Rule): string {
  const limit =
    maxLatenessMs === undefined ? "" : `, at most ${formatDuration(maxLatenessMs)} late`;
  return `${MISSED[missed] ?? missed}${limit}`;
}

export function outcomeWords(outcome: string): string {
  return OUTCOMES[outcome] ?? outcome;
}
