// Finds the registered name that a misspelled name probably means.

/** At most this share of the characters may differ. In a name of up to four characters, one may differ. */
const DIFFERENCE_MAX = 0.4;

/** Undefined: no known name is similar, or the name itself is known. */
export function similarName(name: string, known: Iterable<string>): string | undefined {
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const candidate of new Set(known)) {
    if (candidate === name) return undefined;
    const edits = editsBetween(name.toLowerCase(), candidate.toLowerCase());
    const longest = Math.max(name.length, candidate.length);
    if (edits > Math.max(1, Math.floor(longest * DIFFERENCE_MAX))) continue;
    if (best === undefined || edits < best.edits) best = { name: candidate, edits };
  }
  return best?.name;
}

/** The edit distance: the number of insertions, deletions, replacements and swaps of neighbours. */
function editsBetween(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped && row > 1 && column > 1 ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[to.length] ?? 0;
}
