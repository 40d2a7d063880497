// Ids and names: the rules for the texts that users choose.
//   Owns: the rules for ids and names that users give, and the default ids of children.
//   Does not own: whether an id exists already (the store), or which names are registered (the registry).
//   - ids.1: Every parser returns 1 to 256 bytes of well-formed Unicode without control characters.
//   - An id that a user gives never contains `::`, so that it cannot equal a derived child id.
//   - ids.2: Two different triples (parent, execution, sequence) never derive the same child id.
//   - ids.3: A derived id may be longer than 256 bytes, so that an instance with a long id can have children.
//       It has at most 1,024 bytes, which every store can index.

import { PerdureError } from "../errors/errors.ts";
import { CALLBACK_PREFIX } from "./callback-messages.ts";
import { REQUEST_PREFIX } from "./request-messages.ts";

const BYTES_MAX = 256;
const DERIVED_BYTES_MAX = 1_024;
const SHOWN_CHARACTERS_MAX = 80;
const CONTROL = /\p{Cc}/u; // C0, DEL and C1, exactly
const CONTROLS = /\p{Cc}/gu;
const CHILD_SEPARATOR = "::";
const OUR_PREFIX = "perdure.";
const HALF_A_PAIR = "is not well-formed Unicode: it holds half of a surrogate pair";

/** The id of an instance that a user starts. */
export function parseInstanceId(value: unknown): string {
  return parseGivenId(value, "instance id");
}

/** An explicit id for a child. The rules are those of an instance id. */
export function parseChildId(value: unknown): string {
  return parseGivenId(value, "child id");
}

/** The id of an instance to look up, not to create: derived child ids are valid too. */
export function parseInstanceReference(value: unknown): string {
  return parseText(value, "instance id", DERIVED_BYTES_MAX);
}

/** The id of a child without an explicit id. Histories hold such ids: the derivation must never change. */
export function childInstanceId(from: {
  readonly parent: string;
  readonly execution: number;
  readonly sequence: number;
}): string {
  // The id omits the number of the first execution. The "_" distinguishes (1, 27) from (2, 7).
  const suffix = from.execution === 1 ? `${from.sequence}` : `${from.execution}_${from.sequence}`;
  const id = `${from.parent}::sub::${suffix}`;
  if (!isLongerThan(id, DERIVED_BYTES_MAX)) return id;
  const rule = `is longer than ${DERIVED_BYTES_MAX} bytes; give this child an explicit id`;
  throw refusal("child id", id, rule);
}

/** The name of an orchestration, activity, event or step. `what` says which, for the message. */
export function parseName(value: unknown, what: string): string {
  const name = parseText(value, what, BYTES_MAX);
  if (!name.startsWith(OUR_PREFIX)) return name;
  const rule = `begins with "${OUR_PREFIX}", which is reserved for Perdure's own names`;
  throw refusal(what, name, rule);
}

/** The key of a key-value pair: a name, or the empty text. */
export function parseKey(value: unknown): string {
  return value === "" ? value : parseName(value, "key");
}

/** The key by which a store recognizes a repeated call. */
export function parseRequestId(value: unknown): string {
  const id = parseText(value, "request id", BYTES_MAX);
  for (const prefix of [REQUEST_PREFIX, CALLBACK_PREFIX]) {
    if (id.startsWith(prefix)) {
      throw refusal("request id", id, `begins with "${prefix}", which is reserved`);
    }
  }
  return id;
}

/** A short text that identifies the content of a request. Stores compare digests and never interpret them. */
export function parseRequestDigest(value: unknown): string {
  return parseText(value, "request digest", BYTES_MAX);
}

/** Throws for a text that some store cannot hold or compare. Every other text passes, the empty one too. */
export function checkStorable(text: string, what: string): void {
  if (!text.isWellFormed()) throw refusal(what, text, HALF_A_PAIR);
  if (text.includes("\0")) throw refusal(what, text, "contains U+0000, which no id or name holds");
}

/** A value as error messages show it: on one line, escaped, cut at 80 characters. Never throws. */
export function showValue(value: unknown): string {
  if (Array.isArray(value)) return "(an array)";
  if (typeof value === "object" && value !== null) return "(an object)";
  if (typeof value === "function") return "(a function)";
  if (typeof value !== "string") return cut(escapeControls(String(value)));
  // Cut before escaping too, so that a value of many megabytes is cheap to show.
  return cut(escapeControls(JSON.stringify(value.slice(0, 2 * SHOWN_CHARACTERS_MAX + 2))));
}

function parseGivenId(value: unknown, what: string): string {
  const id = parseText(value, what, BYTES_MAX);
  if (!id.includes(CHILD_SEPARATOR)) return id;
  const rule = `contains "${CHILD_SEPARATOR}", which is reserved for the ids of children`;
  throw refusal(what, id, rule);
}

function parseText(value: unknown, what: string, bytesMax: number): string {
  if (typeof value !== "string") throw refusal(what, value, "must be a string");
  if (value === "") throw refusal(what, value, `is empty; it must have 1 to ${bytesMax} bytes`);
  if (isLongerThan(value, bytesMax)) {
    throw refusal(what, value, `is longer than ${bytesMax} bytes in UTF-8`);
  }
  if (!value.isWellFormed()) throw refusal(what, value, HALF_A_PAIR);
  if (CONTROL.test(value)) throw refusal(what, value, "contains a control character");
  return value;
}

/** Counts bytes only if the text can be too long: a UTF-16 unit takes at most three bytes. */
function isLongerThan(text: string, bytesMax: number): boolean {
  if (text.length * 3 <= bytesMax) return false;
  return text.length > bytesMax || Buffer.byteLength(text) > bytesMax;
}

function refusal(what: string, value: unknown, rule: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `${what} ${showValue(value)} ${rule}`);
}

/** JSON escapes C0 and lone surrogates. This escapes the rest: DEL and C1. */
function escapeControls(text: string): string {
  return text.replace(CONTROLS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function cut(text: string): string {
  const characters = [...text];
  if (characters.length <= SHOWN_CHARACTERS_MAX) return text;
  return `${characters.slice(0, SHOWN_CHARACTERS_MAX).join("")}…`;
}
