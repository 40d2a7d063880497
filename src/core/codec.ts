// The codec: how a value becomes text and comes back as it was (semantics 28, 29; I10).
//   Owns: the choice between the two forms.  Does not own: what counts as plain (codec-plain.ts), the
//   tagged form (codec-encode.ts, codec-decode.ts).
//   C1. What is read back is what was written; a value that could not be is refused with its path. Two
//       things are not kept, as in any copy: that an object was frozen, and that it was shared.
//   C2. Plain JSON is stored as `JSON.stringify` writes it. All else begins with `~`, which no JSON text does.
//   C3. A stored text keeps its meaning for ever: tags are added, never changed. Golden tests hold them.
//   C4. No code of the value runs: no getter, no `toJSON`, no constructor. (A proxy is taken for what it shows.)

import { decodeTagged, UNDEFINED_TEXT } from "./codec-decode.ts";
import { encodeTagged } from "./codec-encode.ts";
import { isPlain } from "./codec-plain.ts";
import { PerdureError } from "./errors.ts";

/**
 * How values become text and come back. One value may have many texts, as with encryption: replay compares what
 * they decode to where the texts differ.
 */
export interface Codec {
  /** Throws `VALUE_NOT_SERIALIZABLE`, with `path`, rather than lose anything. */
  encode(value: unknown): string;
  /** Throws `HISTORY_CORRUPT` for a text that `encode` did not write, `KEY_MISSING` for a key it does not have. */
  decode(text: string): unknown;
  /** Messages, stacks and causes of errors go through the codec as well. Default: they are stored in clear. */
  readonly sealsFailures?: boolean;
  /** Binds rows of history to their place. Default: nothing does. */
  readonly rowSeal?: RowSeal;
}

/** How a codec that has a key binds a row of history to its instance, execution and events. */
export interface RowSeal {
  /** A seal for this text, of letters, digits, `.`, `-` and `_`. */
  seal(text: string): string;
  /** Whether `seal` made that seal for this text. Throws `KEY_MISSING` for a key it does not have. */
  verify(text: string, seal: string): boolean;
  /** Whether a codec that seals rows wrote this value. A history that begins with it must be sealed. */
  demands(value: string): boolean;
}

/** The codec that is used unless another is given: it restores exactly, or refuses with the path. */
export const defaultCodec: Codec = { encode, decode };

function encode(value: unknown): string {
  switch (typeof value) {
    case "undefined":
      return UNDEFINED_TEXT;
    case "string":
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "number":
      // `value - value` is 0 for a finite number alone; String(-0) is "0", so -0 takes the other way.
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
    const why = error instanceof Error ? error.message : String(error);
    throw new PerdureError("HISTORY_CORRUPT", `a stored value cannot be decoded: ${why}`, {
      cause: error,
    });
  }
}

const TILDE = 126;

/** A proxy may throw when it is looked at; the other way then says where. */
function canStringify(value: object): boolean {
  try {
    return isPlain(value);
  } catch {
    return false;
  }
}
