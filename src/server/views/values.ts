// The JSON form of users' values (inputs, outputs, events, key-values) in HTTP requests and answers.
//   - values.1: A plain JSON value is written unchanged. `undefined` is an absent member.
//   - Any other value is `{ "$perdure": … }` with the codec's tagged form as a JSON tree, such as `{
//        "$perdure": ["~d", 0] }` for a date. A plain value that looks like such a marker is wrapped too, so
//        that a reader gets exactly the value that was written (I10).
//   - Two more markers occur only in answers: `$perdureCut` for a value that is too long, and
//        `$perdureUnreadable` for a value that the store's codec cannot decode.

import { defaultCodec, type Codec } from "../../core/values/codec.ts";
import { encodeTagged } from "../../core/values/encode.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { checkGivenBounds } from "../http/value-bounds.ts";

const MARK = "$perdure";
const CUT = "$perdureCut";
const UNREADABLE = "$perdureUnreadable";

export interface WriteOptions {
  /** A value whose encoded text is longer becomes a `$perdureCut` marker. */
  readonly charsMax?: number;
}

/** The marker of a value that is too long. */
export function cutValue(chars: number): { readonly [CUT]: { readonly chars: number } } {
  return { [CUT]: { chars } };
}

/** Converts a decoded value for an answer. Undefined: omit the member. */
export function toHttp(value: unknown, { charsMax = Infinity }: WriteOptions = {}): unknown {
  if (value === undefined) return undefined;
  const text = defaultCodec.encode(value);
  if (text.length > charsMax) return cutValue(text.length);
  if (text.startsWith("~")) return { [MARK]: JSON.parse(text.slice(1)) as unknown };
  return markOf(value) === undefined ? value : { [MARK]: taggedTree(value) };
}

/** Converts a value for a request in which an absent member means something else than undefined. */
export function valueToHttp(value: unknown): unknown {
  return toHttp(value) ?? { [MARK]: taggedTree(value) };
}

/**
 * Converts a stored payload for an answer. A payload that cannot be decoded becomes a marker, not an error.
 */
export function payloadToHttp(text: string, codec: Codec, options: WriteOptions = {}): unknown {
  const { charsMax = Infinity } = options;
  if (text.length > charsMax) return cutValue(text.length);
  try {
    return toHttp(codec.decode(text), options);
  } catch (error) {
    return { [UNREADABLE]: error instanceof Error ? error.message : "the value cannot be decoded" };
  }
}

/** Converts a value from an answer. The markers of cut and unreadable values stay as they are. */
export function fromHttp(json: unknown): unknown {
  if (markOf(json) !== MARK) return json;
  return defaultCodec.decode(`~${JSON.stringify((json as { [MARK]: unknown })[MARK])}`);
}

/**
 * Converts a value from a request. Checks bounds first, because a caller must not be able to block the
 * process.
 */
export function requestedValue(json: unknown): unknown {
  if (markOf(json) === MARK) checkGivenBounds((json as { [MARK]: unknown })[MARK]);
  return givenValue(json);
}

/**
 * Converts a value that has the form of a request but comes from a trusted source, such as the command line.
 */
export function givenValue(json: unknown): unknown {
  const mark = markOf(json);
  if (mark === undefined) return json;
  if (mark !== MARK) {
    const message = `A "${mark}" marker stands for a value that is missing; it cannot be sent.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  try {
    return fromHttp(json);
  } catch (error) {
    const message = `The value under "${MARK}" is not in the codec's tagged form.`;
    throw new PerdureError("INVALID_ARGUMENT", message, { cause: error });
  }
}

/** The name of the marker, if the value is an object with a single marker member. */
function markOf(json: unknown): string | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const keys = Object.keys(json);
  return keys.length === 1 && keys[0]?.startsWith(MARK) === true ? keys[0] : undefined;
}

function taggedTree(value: unknown): unknown {
  const text = encodeTagged(value);
  return JSON.parse(text.startsWith("~") ? text.slice(1) : text) as unknown;
}
