// The codec: encodes a value as text and decodes the text to an equal value (semantics 28, 29; I10).
//   Owns: the choice between the two forms.  Does not own: which values are plain (plain.ts), the tagged form
//   (encode.ts, decode.ts).
//   - core.codec.1: Decoding restores the encoded value exactly. Encoding a value that cannot be restored
//       throws, with the path to it. As in any copy, two facts are lost: that an object was frozen, and that
//       it was shared.
//   - Plain JSON is stored as `JSON.stringify` writes it. Every other text begins with `~`, which no JSON
//       text does.
//   - core.codec.2: A stored text keeps its meaning forever: tags are added, never changed. Golden tests
//       check this.
//   - Encoding runs no code of the value: no getter, no `toJSON`, no constructor. (The traps of a proxy do
//       run.)

import { decodeTagged, UNDEFINED_TEXT } from "./decode.ts";
import { encodeTagged } from "./encode.ts";
import { stringText } from "./json-text.ts";
import { isPlain } from "./plain.ts";
import { errorMessage, PerdureError } from "../errors/errors.ts";

/**
 * Encodes values as text and decodes them. One value may have many texts, for example with encryption. Where
 * two texts differ, replay compares the decoded values.
 */
export interface Codec {
  /** Throws `VALUE_NOT_SERIALIZABLE`, with `path`, if the value could not be restored exactly. */
  encode(value: unknown): string;
  /**
   * Throws `HISTORY_CORRUPT` for a text that `encode` did not write, `KEY_MISSING` if the codec lacks the
   * key.
   */
  decode(text: string): unknown;
  /**
   * Whether the codec also encodes messages, stacks and causes of errors. Default: they are stored in clear.
   */
  readonly sealsFailures?: boolean;
  /** Binds each row of history to its instance and position. Default: rows are not bound. */
  readonly rowSeal?: RowSeal;
}

/** How a codec that has a key binds a row of history to its instance, execution and events. */
export interface RowSeal {
  /** A seal for this text, made of letters, digits, `.`, `-` and `_`. */
  seal(text: string): string;
  /** Whether `seal` made that seal for this text. Throws `KEY_MISSING` if the codec lacks the key. */
  verify(text: string, seal: string): boolean;
  /** Whether a codec that seals rows wrote this value. A history that begins with it must be sealed. */
  demands(value: string): boolean;
}

/**
 * The default codec. It restores every value exactly, or throws with the path to the part that it cannot
 * restore.
 */
export const defaultCodec: Codec = { encode, decode };

function encode(value: unknown): string {
  switch (typeof value) {
    case "undefined":
      return UNDEFINED_TEXT;
    case "string":
      return stringText(value);
    case "boolean":
      return value ? "true" : "false";
    case "number":
      // `value - value` is 0 only for a finite number. String(-0) is "0", so -0 needs the tagged form.
      if (value - value === 0 && !Object.is(value, -0)) return String(value);
      break;
    case "object":
      if (value === null) return "null";
      if (canStringify(value)) return JSON.stringify(value);
      break;
    default:
  }
  return encodeTagged(value);
}

function decode(text: string): unknown {
  if (text === UNDEFINED_TEXT) return undefined;
  try {
    return text.charCodeAt(0) === TILDE ? decodeTagged(text) : JSON.parse(text);
  } catch (error) {
    const why = errorMessage(error);
    throw new PerdureError("HISTORY_CORRUPT", `a stored value cannot be decoded: ${why}`, {
      cause: error,
    });
  }
}

const TILDE = 126;

/** A proxy may throw when it is read. The tagged form then throws an error with the path. */
function canStringify(value: object): boolean {
  try {
    return isPlain(value);
  } catch {
    return false;
  }
}
