// Reads JSON from the bytes of a body.
//   - Nesting depth and number of members are counted in the text, before JSON.parse sees it (S26).
//   - Bytes that are not UTF-8 and text that is not JSON raise INVALID_ARGUMENT.

import { invalidArgument } from "../../core/checks.ts";

export interface JsonBounds {
  readonly jsonDepthMax: number;
  readonly jsonMembersMax: number;
}

export function parseJson(bytes: Uint8Array, bounds: JsonBounds): unknown {
  const text = decodeText(bytes, "utf-8");
  checkShape(text, bounds);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalidArgument("The body must be JSON.");
  }
}

/** The text of a body. Throws for bytes that the character set does not have, and for an unknown character set. */
export function decodeText(bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    const name = /^utf-?8$/i.test(charset) ? "UTF-8" : `text in the character set "${charset}"`;
    throw invalidArgument(`The body must be ${name}.`);
  }
}

/** Scans the text once: skips strings, counts brackets and commas. */
function checkShape(text: string, bounds: JsonBounds): void {
  let depth = 0;
  let members = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text.charCodeAt(index);
    if (character === QUOTE) index = endOfString(text, index);
    else if (character === OPEN_BRACE || character === OPEN_BRACKET) depth += 1;
    else if (character === CLOSE_BRACE || character === CLOSE_BRACKET) depth -= 1;
    else if (character === COMMA) members += 1;
    if (depth > bounds.jsonDepthMax) {
      throw invalidArgument(`The JSON is nested deeper than ${bounds.jsonDepthMax} levels.`);
    }
    if (members > bounds.jsonMembersMax) {
      throw invalidArgument(`The JSON has more than ${bounds.jsonMembersMax} members.`);
    }
  }
}

function endOfString(text: string, open: number): number {
  let index = open + 1;
  while (index < text.length && text.charCodeAt(index) !== QUOTE) {
    index += text.charCodeAt(index) === BACKSLASH ? 2 : 1;
  }
  return index;
}

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
