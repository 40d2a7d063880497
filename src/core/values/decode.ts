// Decoding of the tagged form. class-tags.ts lists the tags.
//   - decode.1: A tag that is unknown, or whose parts its writer cannot have written, is an error, never a
//       guess.
//   - Members of parsed objects are replaced in place. They are own data properties already, so that a key
//       named `__proto__` is set as data and does not change a prototype (semantics 29).

import { bigIntFromDecimal, bigIntFromHex } from "./bigint.ts";
import { bytesFromBase64 } from "./bytes.ts";
import { bareError, defineHidden, defineShown, isErrorClassName } from "../errors/error-classes.ts";

/** The text of `undefined`, the most common value that is not JSON: most activities return it. */
export const UNDEFINED_TEXT = '~["~u"]';

/** Decodes a text that begins with `~`. May throw any error; the caller reports that the text is corrupt. */
export function decodeTagged(text: string): unknown {
  return restore(JSON.parse(text.slice(1)));
}

function restore(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) return restoreMembers(value);
  const elements: unknown[] = value;
  const [head] = elements;
  if (typeof head !== "string" || !head.startsWith("~")) return restoreElements(elements);
  const read = READERS.get(head);
  if (read === undefined) {
    throw new Error(`unknown tag ${JSON.stringify(head)}, perhaps of a newer version`);
  }
  return read(elements.slice(1));
}

function restoreElements(elements: unknown[]): unknown[] {
  for (let index = 0; index < elements.length; index++) elements[index] = restore(elements[index]);
  return elements;
}

function restoreMembers(object: object): object {
  for (const [key, value] of Object.entries(object)) {
    const restored = restore(value);
    if (restored !== value) Reflect.set(object, key, restored);
  }
  return object;
}

const NUMBERS = new Map<unknown, number>([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
  ["-0", -0],
]);

const READERS = new Map<string, (parts: unknown[]) => unknown>([
  ["~", restoreElements],
  ["~u", () => undefined],
  ["~n", ([text]) => NUMBERS.get(text) ?? malformed("number")],
  ["~i", ([text]) => bigIntFromDecimal(requireText(text)) ?? malformed("bigint")],
  ["~h", ([text]) => bigIntFromHex(requireText(text)) ?? malformed("bigint")],
  ["~d", ([ms]) => readDate(ms)],
  ["~m", (parts) => readMap(restoreElements(parts))],
  ["~s", (parts) => new Set(restoreElements(parts))],
  ["~b", ([name, text]) => readBytes(requireText(name), requireText(text))],
  ["~l", ([href]) => new URL(requireText(href))],
  ["~r", ([source, flags, lastIndex]) => readRegExp(source, flags, restore(lastIndex))],
  ["~e", ([name, hidden, shown]) => readError(requireText(name), hidden, shown)],
  ["~0", ([members]) => withoutPrototype(requireObject(members))],
]);

function readDate(ms: unknown): Date {
  if (ms === null) return new Date(NaN);
  const date = typeof ms === "number" ? new Date(ms) : malformed("Date");
  // A number out of range makes an invalid date, and a fraction is cut off: the encoder never writes either.
  return date.getTime() === ms ? date : malformed("Date");
}

function readMap(parts: readonly unknown[]): Map<unknown, unknown> {
  if (parts.length % 2 !== 0) malformed("Map");
  const map = new Map<unknown, unknown>();
  for (let index = 0; index < parts.length; index += 2) map.set(parts[index], parts[index + 1]);
  return map;
}

function readBytes(name: string, text: string): ArrayBuffer | ArrayBufferView {
  return bytesFromBase64(name, text) ?? malformed(name);
}

function readRegExp(source: unknown, flags: unknown, lastIndex: unknown): RegExp {
  const regExp = new RegExp(requireText(source), requireText(flags));
  Reflect.set(regExp, "lastIndex", lastIndex);
  return regExp;
}

function readError(name: string, hidden: unknown, shown: unknown = {}): Error {
  if (!isErrorClassName(name)) malformed(`error of class ${name}`);
  const error = bareError(name);
  for (const [key, value] of Object.entries(requireObject(hidden))) {
    defineHidden(error, key, restore(value));
  }
  for (const [key, value] of Object.entries(requireObject(shown))) {
    defineShown(error, key, restore(value));
  }
  return error;
}

function withoutPrototype(members: object): object {
  const bare: object = Object.create(null);
  for (const [key, value] of Object.entries(members)) Reflect.set(bare, key, restore(value));
  return bare;
}

function requireText(value: unknown): string {
  return typeof value === "string" ? value : malformed("text");
}

function requireObject(value: unknown): object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) malformed("object");
  return value;
}

function malformed(what: string): never {
  throw new Error(`malformed ${what}`);
}
