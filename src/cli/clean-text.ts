// Text that a terminal may show: data never moves the cursor, changes a colour, a title or the reading direction.
//   CT1. Whatever a terminal acts on, or does not show at all, is written out: C0, DEL, C1, format characters
//        (directions, zero widths, tags), line and paragraph separators, halves of characters.
//   CT2. What is cleaned has no line breaks: one line of data stays one line on the screen.

const UNSHOWN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;
/** As far as JSON.stringify leaves them as they are. */
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

/** JSON text with nothing in it that a terminal could act on; it means the same. */
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

/** How many columns a cleaned text takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/\p{M}/u.test(character)) continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

/** Cut to so many columns, with an ellipsis where something is missing. */
export function cutToWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let width = 0;
  let kept = "";
  for (const character of text) {
    width += displayWidth(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return `${kept}…`;
}
