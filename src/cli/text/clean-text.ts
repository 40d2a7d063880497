// Makes text safe for a terminal: data cannot move the cursor or change a colour, a title or the reading
// direction.
//   - clean-text.1: Characters that control a terminal or are invisible are escaped: C0, DEL, C1, format
//        characters (directions, zero widths, tags), line and paragraph separators, lone surrogates.
//   - clean-text.2: Cleaned text has no line breaks: one line of data stays one line on the screen.

const UNSHOWN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;
/** The same characters, without those that JSON.stringify escapes. */
const UNSHOWN_IN_JSON = /[\x7f-\x9f\p{Cf}\u2028\u2029]/gu;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

export function clean(text: string): string {
  return text.replace(UNSHOWN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (code < 0x100) return SHORT[character] ?? `\\x${hex.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
  });
}

/** JSON without characters that control a terminal. They are escaped, so the value stays the same. */
export function cleanJson(value: unknown, space?: number): string {
  const text = JSON.stringify(value, null, space);
  return text.replace(UNSHOWN_IN_JSON, (character) =>
    [...new Array<undefined>(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** The number of terminal columns that a cleaned text needs. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/\p{M}/u.test(character)) continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

/** Cuts a text to a number of columns. A cut text ends with an ellipsis. */
export function cutToWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let width = 0;
  let result = "";
  for (const character of text) {
    width += displayWidth(character);
    if (width > columns - 1) break;
    result += character;
  }
  return `${result}…`;
}
