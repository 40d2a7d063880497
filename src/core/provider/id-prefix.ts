// Id prefix: ids that begin alike are a range in the order of UTF-8, so that no character of a prefix means anything
// else to a store, as it would in a pattern.

const LAST_POINT = 0x10ffff;
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;

/** The first text, by code points, that comes after all that begin with the prefix; null if none does. */
export function firstAfter(prefix: string): string | null {
  const points = [...prefix];
  for (;;) {
    const last = points.pop()?.codePointAt(0);
    if (last === undefined) return null;
    if (last === LAST_POINT) continue;
    // Surrogates are no characters: the order of UTF-8 has nothing in their place.
    const next = last === BEFORE_SURROGATES ? AFTER_SURROGATES : last + 1;
    return points.join("") + String.fromCodePoint(next);
  }
}

/**
 * How a list by prefix is read. First among so many rows next to the cursor, in the order of the list: that fills a
 * page when about one row in a hundred matches. If it does not, and at most FEW_MATCHES ids have the prefix, through
 * the index on ids, and then sorted.
 */
export const NEAR_ROWS = 5_000;
export const FEW_MATCHES = 20_000;
