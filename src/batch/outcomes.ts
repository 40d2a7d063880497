// The outcomes that a handler returned, checked.
//   - A wrong value is a mistake in the handler, not in an item. So its error may be retried, and a deploy can repair it.

import { showValue } from "../core/ids/ids.ts";
import type { BatchOutcome } from "./types.ts";

/** One outcome per item. Throws if the handler returned anything but nothing or a list of outcomes. */
export function outcomesOf(
  returned: unknown,
  count: number,
  what: string,
): readonly BatchOutcome<unknown>[] {
  if (returned === undefined) return Array.from({ length: count }, () => ({ ok: undefined }));
  const rule = `The handler of ${what} must return nothing, or a list with one { ok } or { error } per item`;
  if (!Array.isArray(returned)) throw new TypeError(`${rule}; got ${showValue(returned)}.`);
  const list: readonly unknown[] = returned;
  if (list.length !== count) {
    throw new TypeError(`${rule}; got ${list.length} outcomes for ${count} items.`);
  }
  return Array.from(list, (each, index) => {
    if (isOutcome(each)) return each;
    throw new TypeError(`${rule}; got ${showValue(each)} at index ${index}.`);
  });
}

function isOutcome(value: unknown): value is BatchOutcome<unknown> {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "ok") !== Object.hasOwn(value, "error");
}
