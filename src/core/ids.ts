// Ids and names: what may be called what.
//   Owns: the rules for ids and names that users give, and the ids that children get by default.
//   Does not own: whether an id is taken (the store), or which names are registered (the registry).
//   I1. What a parser here returns is 1 to 256 bytes of well-formed Unicode without control characters.
//   I2. `::` never occurs in an id that a user gives, so that a derived child id cannot meet one.
//   I3. Two different (parent, execution, sequence) never give the same child id.
//   I4. A derived id may be longer than 256 bytes, since a long id must not forbid children; it stays
//       within 1,024, which every store can index.

import { PerdureError } from "./errors.ts";

declare const instanceIdBrand: unique symbol;

/** An instance's id, checked. Made only by the functions of this file. */
export type InstanceId = string & { readonly [instanceIdBrand]: true };

const BYTES_MAX = 256;
const DERIVED_BYTES_MAX = 1_024;
const SHOWN_CHARACTERS_MAX = 80;
const CONTROL = /\p{Cc}/u; // C0, DEL and C1, exactly
const CONTROLS = /\p{Cc}/gu;
const CHILD_SEPARATOR = "::";
const OUR_PREFIX = "perdure.";
const HALF_A_PAIR = "is not well-formed Unicode: it holds half of a surrogate pair";

/** The id of an instance that a user starts. */
export function parseInstanceId(value: unknown): InstanceId {
  return parseGivenId(value, "instance id");
}

/** An explicit id for a child: the same rules as for an instance, since it becomes one. */
export function parseChildId(value: unknown): InstanceId {
  return parseGivenId(value, "child id");
}

/** The id of an instance that is looked up, not created: derived child ids are welcome too. */
export function parseInstanceReference(value: unknown): InstanceId {
  return parseText(value, "instance id", DERIVED_BYTES_MAX) as InstanceId;
}

/** The id of a child that was given none. Stored behaviour: it must never change. */
export function childInstanceId(from: {
  readonly parent: string;
  readonly execution: number;
  readonly sequence: number;
}): InstanceId {
  // The first execution leaves its number out; "_" keeps (1, 27) and (2, 7) apart.
  const place = from.execution === 1 ? `${from.sequence}` : `${from.execution}_${from.sequence}`;
  const id = `${from.parent}::sub::${place}`;
  if (isLongerThan(id, DERIVED_BYTES_MAX)) {
    throw refusal(
      "child id",
      id,
      `is longer than ${DERIVED_BYTES_MAX} bytes; give this child an explicit id`,
    );
  }
  return id as InstanceId;
}

/** A name of an orchestration, activity, event or step; `what` says which, for the message. */
export function parseName(value: unknown, what: string): string {
  const name = parseText(value, what, BYTES_MAX);
  if (name.startsWith(OUR_PREFIX)) {
    throw refusal(
      what,
      name,
      `begins with "${OUR_PREFIX}", which is reserved for Perdure's own names`,
    );
  }
  return name;
}

/** The key of a key-value: as a name, or empty. */
export function parseKey(value: unknown): string {
  return value === "" ? value : parseName(value, "key");
}

/** The key under which a repeated call is recognised. */
export function parseRequestId(value: unknown): string {
  return parseText(value, "request id", BYTES_MAX);
}

/** What a request asks for, in any short form; compared, never read. */
export function parseRequestDigest(value: unknown): string {
  return parseText(value, "request digest", BYTES_MAX);
}

/** Refuses a text that not every store can hold or compare; any other, the empty one too, is welcome. */
export function checkStorable(text: string, what: string): void {
  if (!text.isWellFormed()) throw refusal(what, text, HALF_A_PAIR);
  if (text.includes("\0")) throw refusal(what, text, "contains U+0000, which no id or name holds");
}

/** A value as an error message shows it: on one line, escaped, cut at 80 characters, never throwing. */
export function showValue(value: unknown): string {
  if (Array.isArray(value)) return "(an array)";
  if (typeof value === "object" && value !== null) return "(an object)";
  if (typeof value === "function") return "(a function)";
  if (typeof value !== "string") return cut(escapeControls(String(value)));
  // Cut before escaping as well, so that a value of many megabytes costs nothing.
  return cut(escapeControls(JSON.stringify(value.slice(0, 2 * SHOWN_CHARACTERS_MAX + 2))));
}

function parseGivenId(value: unknown, what: string): InstanceId {
  const id = parseText(value, what, BYTES_MAX);
  if (id.includes(CHILD_SEPARATOR)) {
    throw refusal(
      what,
      id,
      `contains "${CHILD_SEPARATOR}", which is reserved for the ids of children`,
    );
  }
  return id as InstanceId;
}

function parseText(value: unknown, what: string, bytesMax: number): string {
  if (typeof value !== "string") throw refusal(what, value, "must be a string");
  if (value === "") throw refusal(what, value, `is empty; it must have 1 to ${bytesMax} bytes`);
  if (isLongerThan(value, bytesMax)) {
    throw refusal(what, value, `is longer than ${bytesMax} bytes in UTF-8`);
  }
  if (!value.isWellFormed()) {
    throw refusal(what, value, HALF_A_PAIR);
  }
  if (CONTROL.test(value)) throw refusal(what, value, "contains a control character");
  return value;
}

/** Measured only where it can matter: a UTF-16 unit takes at most three bytes. */
function isLongerThan(text: string, bytesMax: number): boolean {
  if (text.length * 3 <= bytesMax) return false;
  return text.length > bytesMax || Buffer.byteLength(text) > bytesMax;
}

function refusal(what: string, value: unknown, rule: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `${what} ${showValue(value)} ${rule}`);
}

/** JSON escapes C0 and lone surrogates; DEL and C1 are left to us. */
function escapeControls(text: string): string {
  return text.replace(CONTROLS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function cut(text: string): string {
  const characters = [...text];
  if (characters.length <= SHOWN_CHARACTERS_MAX) return text;
  return `${characters.slice(0, SHOWN_CHARACTERS_MAX).join("")}…`;
}
