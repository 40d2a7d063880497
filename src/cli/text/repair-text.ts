// A repair on one line: what was done, by which person, and why.

import type { Repair } from "../../core/history/events.ts";

export function repairText(repair: Omit<Repair, "at"> | undefined): string {
  if (repair === undefined) return "";
  const { kind, execution, source, before, reason, by, replaced = [] } = repair;
  const where = before === undefined ? "" : ` before event ${before}`;
  const of = source === undefined ? `execution ${execution}` : `${source}, execution ${execution},`;
  const values =
    replaced.length === 0 ? "" : `, with values for ${replaced.map((n) => `#${n}`).join(", ")}`;
  const author = by === undefined ? "" : ` by ${by}`;
  return `${kind} of ${of}${where}${values}${author}: ${reason}`;
}
