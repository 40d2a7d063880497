// Id prefix: ids with a common prefix are a range in the order of UTF-8. A range needs no pattern, so no
// character of a prefix has a special meaning to a store.

const LAST_POINT = 0x10ffff;
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;

/** The first text, by code points, after all texts that begin with the prefix; null if there is none. */
export function firstAfter(prefix: string): string | null {
  const points = [...prefix];
  for (;;) {
    const last = points.pop()?.codePointAt(0);
    if (last === undefined) return null;
    if (last === LAST_POINT) continue;
    // Surrogates are not characters, so the order of UTF-8 has no entries for them.
    const next = last === BEFORE_SURROGATES ? AFTER_SURROGATES : last + 1;
    return points.join("") + String.fromCodePoint(next);
  }
}
