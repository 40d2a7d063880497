// A naive model of searches: it filters and sorts records in memory, without any index.

import type { StoredAttribute } from "../../../core/define/attributes.ts";
import type {
  AttributeTest,
  InstanceFilter,
  InstanceRecord,
  ListRequest,
} from "../../../core/provider/index.ts";

/** The ids that a list must return, in order. `records` are in the order of creation. */
export function expectedIds(
  records: readonly InstanceRecord[],
  { filter, order, orderBy = "createdAt" }: Pick<ListRequest, "filter" | "order" | "orderBy">,
): readonly string[] {
  const sign = order === "newest" ? -1 : 1;
  const matching = records.filter((record) => matches(record, filter));
  if (orderBy === "createdAt") return idsOf(order === "newest" ? matching.toReversed() : matching);
  const place = ({ id }: InstanceRecord): number => records.findIndex((each) => each.id === id);
  const compare = (a: InstanceRecord, b: InstanceRecord): number => {
    const [x, y] = [a[orderBy], b[orderBy]];
    if (x === null || y === null) {
      if (x !== y) return x === null ? 1 : -1; // admin.9
      return sign * (place(a) - place(b));
    }
    return sign * (x - y || place(a) - place(b));
  };
  return idsOf(matching.toSorted(compare));
}

function idsOf(records: readonly InstanceRecord[]): readonly string[] {
  return records.map(({ id }) => id);
}

function matches(record: InstanceRecord, filter: InstanceFilter): boolean {
  const { attributes = {}, where = {}, text, idPrefix, name, status } = filter;
  const { completedAfter, completedBefore } = filter;
  const shown = record.paused === null ? record.status : "paused";
  const end = record.completedAt;
  return (
    (status === undefined || status.includes(shown)) &&
    (name === undefined || record.name === name) &&
    (idPrefix === undefined || record.id.startsWith(idPrefix)) &&
    (completedAfter === undefined || (end !== null && end > completedAfter)) &&
    (completedBefore === undefined || (end !== null && end < completedBefore)) &&
    (text === undefined || contains(record, text)) &&
    Object.entries(attributes).every(([key, eq]) => passes(record.attributes[key], { eq })) &&
    Object.entries(where).every(([key, test]) => passes(record.attributes[key], test))
  );
}

/** admin.8 */
function contains({ id, name, attributes }: InstanceRecord, text: string): boolean {
  const lower = (given: string): string =>
    given.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  return (
    [id, name].some((each) => lower(each).includes(lower(text))) ||
    Object.values(attributes).some(
      (value) => value === text || (typeof value === "number" && String(value) === text),
    )
  );
}

/** admin.7 */
function passes(value: StoredAttribute | undefined, test: AttributeTest): boolean {
  const { eq, in: any, gt, gte, lt, lte, prefix, exists } = test;
  if (value === undefined) return exists === false && Object.keys(test).length === 1;
  if (exists === false) return false;
  const compared = (other: StoredAttribute, holds: (sign: number) => boolean): boolean => {
    const sign = compareValues(value, other);
    return sign !== null && holds(sign);
  };
  return (
    (eq === undefined || compared(eq, (sign) => sign === 0)) &&
    (any === undefined || any.some((each) => compared(each, (sign) => sign === 0))) &&
    (gt === undefined || compared(gt, (sign) => sign > 0)) &&
    (gte === undefined || compared(gte, (sign) => sign >= 0)) &&
    (lt === undefined || compared(lt, (sign) => sign < 0)) &&
    (lte === undefined || compared(lte, (sign) => sign <= 0)) &&
    (prefix === undefined || (typeof value === "string" && value.startsWith(prefix)))
  );
}

/** Null: the values are of different types. */
function compareValues(a: StoredAttribute, b: StoredAttribute): number | null {
  if (typeof a === "object" || typeof b === "object") {
    return typeof a === "object" && typeof b === "object" ? a.date - b.date : null;
  }
  if (typeof a !== typeof b) return null;
  if (typeof a !== "string" || typeof b !== "string") return Number(a) - Number(b);
  return Buffer.compare(Buffer.from(a), Buffer.from(b)); // UTF-8 sorts by code points
}
