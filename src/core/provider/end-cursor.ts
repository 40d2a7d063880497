// End cursor: how far a sweep has come through ended instances, in the order of (time of their end, key).

import { PerdureError } from "../errors.ts";

export function endCursor(completedAt: number, key: number): string {
  return `${completedAt}:${key}`;
}

/** The place behind which a sweep goes on; null: before the first. */
export function endPlace(cursor: string | null): readonly [completedAt: number, key: number] {
  if (cursor === null) return [Number.MIN_SAFE_INTEGER, 0];
  const place = /^(-?\d{1,16}):(\d{1,16})$/.exec(cursor);
  if (place !== null) return [Number(place[1]), Number(place[2])];
  const message = `cursor must come from an earlier step of the sweep; got "${cursor}".`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}
