// Values of users (inputs, outputs, events, key-values), as HTTP carries them.
//   VA1. What is plain JSON is written as itself. `undefined` is an absent member.
//   VA2. Any other value is `{ "$perdure": … }`: inside stands the codec's tagged form as a JSON tree, such as
//        `{ "$perdure": ["~d", 0] }` for a date. A plain value that looks like a marker is wrapped as well, so
//        that what is read is what was written (I10).
//   VA3. Two more markers go out and never come in: `$perdureCut` for a value too long for its place, and
//        `$perdureUnreadable` for one that the store's codec cannot decode.

import { defaultCodec, type Codec } from "../core/codec.ts";
import { encodeTagged } from "../core/codec-encode.ts";
import { PerdureError } from "../core/errors.ts";
import { checkGivenBounds } from "./given-bounds.ts";

const MARK = "$perdure";
const CUT = "$perdureCut";
const UNREADABLE = "$perdureUnreadable";

export interface WriteOptions {
  /** A value whose text is longer is cut. */
  readonly charsMax?: number;
}

/** Stands for a value that is too long for its place. */
export function cutValue(chars: number): { readonly [CUT]: { readonly chars: number } } {
  return { [CUT]: { chars } };
}

/** A decoded value for an answer; undefined: leave the member out. */
export function toHttp(value: unknown, { charsMax = Infinity }: WriteOptions = {}): unknown {
  if (value === undefined) return undefined;
  const text = defaultCodec.encode(value);
  if (text.length > charsMax) return cutValue(text.length);
  if (text.startsWith("~")) return { [MARK]: JSON.parse(text.slice(1)) as unknown };
  return markOf(value) === undefined ? value : { [MARK]: taggedTree(value) };
}

/** A stored payload for an answer. One that cannot be read says so and spoils nothing around it. */
export function payloadToHttp(text: string, codec: Codec, options: WriteOptions = {}): unknown {
  const { charsMax = Infinity } = options;
  if (text.length > charsMax) return cutValue(text.length);
  try {
    return toHttp(codec.decode(text), options);
  } catch (error) {
    return { [UNREADABLE]: error instanceof Error ? error.message : "it cannot be decoded" };
  }
}

/** A value from an answer. What was cut or unreadable stays the marker that says so. */
export function fromHttp(json: unknown): unknown {
  if (markOf(json) !== MARK) return json;
  return defaultCodec.decode(`~${JSON.stringify((json as { [MARK]: unknown })[MARK])}`);
}

/** A value from a request, whose sender is not trusted with the time of this process. */
export function requestedValue(json: unknown): unknown {
  if (markOf(json) === MARK) checkGivenBounds((json as { [MARK]: unknown })[MARK]);
  return givenValue(json);
}

/** A value in the form of requests, from the user of this process. */
export function givenValue(json: unknown): unknown {
  const mark = markOf(json);
  if (mark === undefined) return json;
  if (mark !== MARK) {
    throw new PerdureError("INVALID_ARGUMENT", `A value that was ${mark} cannot be sent.`);
  }
  try {
    return fromHttp(json);
  } catch (error) {
    const message = `The value under "${MARK}" is not in the codec's tagged form.`;
    throw new PerdureError("INVALID_ARGUMENT", message, { cause: error });
  }
}

/** The one member of an object that is a marker. */
function markOf(json: unknown): string | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const keys = Object.keys(json);
  return keys.length === 1 && keys[0]?.startsWith(MARK) === true ? keys[0] : undefined;
}

function taggedTree(value: unknown): unknown {
  const text = encodeTagged(value);
  return JSON.parse(text.startsWith("~") ? text.slice(1) : text) as unknown;
}
