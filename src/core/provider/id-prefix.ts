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
