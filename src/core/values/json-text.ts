// JSON text of strings: the same text as JSON.stringify, faster for long strings that contain nothing to escape.
//   - V8 looks at every character of a string that it stringifies, which takes longer than writing the string to a
//     store. A search for one character runs at the speed of memory.
//   - json-text.1: The result always equals JSON.stringify. A string that is short, or not ASCII, or that contains
//     anything to escape, is left to it.

const LONG_CHARS = 1_000;
const QUOTE = 34;
/** Everything that JSON escapes in ASCII, frequent characters first. */
const ESCAPED: readonly string[] = [
  ...['"', "\n", "\\"],
  ...Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).filter((c) => c !== "\n"),
];

export function stringText(value: string): string {
  return isLongAndBare(value) ? `"${value}"` : JSON.stringify(value);
}

/** Like `stringText`, also fast for the text of such a string: its outer quotes are the only ones. */
export function textOfText(text: string): string {
  if (text.length > LONG_CHARS && text.charCodeAt(0) === QUOTE && text.endsWith('"')) {
    const inner = text.slice(1, -1);
    if (isLongAndBare(inner)) return `"\\"${inner}\\""`;
  }
  return stringText(text);
}

export function isLong(text: string): boolean {
  return text.length >= LONG_CHARS;
}

/** Whether the string is long and contains nothing that JSON escapes. */
function isLongAndBare(value: string): boolean {
  if (!isLong(value)) return false;
  for (const char of ESCAPED) if (value.includes(char)) return false;
  return Buffer.byteLength(value) === value.length; // ASCII
}
