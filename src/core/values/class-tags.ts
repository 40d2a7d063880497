// The tags of built-in classes: how the codec writes each class. This list and decode.ts document the stored
// format.
//   ["~u"] undefined · ["~n","NaN"|"Infinity"|"-Infinity"|"-0"] number · ["~i","12"] bigint
//   ["~h","c…"] bigint in hexadecimal · ["~d",ms|null] Date
//   ["~m",key,value,…] Map · ["~s",element,…] Set · ["~b",class,base64] bytes · ["~l",href] URL
//   ["~r",source,flags,lastIndex] RegExp · ["~e",class,{hidden},{shown}] Error · ["~0",{…}] null prototype
//   ["~",element,…] an array that looks like a tag
//   - class-tags.1: An instance with own properties that its tag does not hold cannot be stored.
//   - class-tags.2: Subclasses are not listed and cannot be stored: restoring one as its parent class would
//       not be exact.

import { bytesClassName, bytesToBase64, bytesProblem } from "./bytes.ts";
import type { Segment } from "./path.ts";
import { errorClassName } from "../errors/error-classes.ts";
import type { PerdureError } from "../errors/errors.ts";

/** The parts of the encoder that a tag writer uses. */
export interface EncodingWalk {
  tag(name: string, parts?: readonly string[]): string;
  member(value: unknown, segment: Segment): string;
  membersText(value: object, names: readonly string[]): string;
  refusal(what: string, cause?: unknown): PerdureError;
  refusalAt(segment: Segment, what: string): PerdureError;
}

export type TagWriter = (value: object, walk: EncodingWalk) => string;

const TAG_WRITERS = new Map<object, TagWriter>([
  forClass(Date, (date, walk) => {
    const ms = date.getTime();
    return walk.tag("~d", [Number.isNaN(ms) ? "null" : String(ms)]);
  }),
  forClass(Map, (map, walk) => {
    const parts: string[] = [];
    let index = 0;
    for (const [key, value] of map) {
      parts.push(walk.member(key, { kind: "key", index }));
      parts.push(walk.member(value, { kind: "entry", key, index }));
      index++;
    }
    return walk.tag("~m", parts);
  }),
  forClass(Set, (set, walk) => {
    const parts: string[] = [];
    for (const element of set) {
      parts.push(walk.member(element, { kind: "element", index: parts.length }));
    }
    return walk.tag("~s", parts);
  }),
  forClass(URL, ({ href }, walk) => {
    if (new URL(href).href !== href) throw walk.refusal("a URL that its own text does not restore");
    return walk.tag("~l", [JSON.stringify(href)]);
  }),
  forClass(
    RegExp,
    (regExp, walk) => {
      const lastIndex = walk.member(regExp.lastIndex, "lastIndex");
      return walk.tag("~r", [JSON.stringify(regExp.source), `"${regExp.flags}"`, lastIndex]);
    },
    ["lastIndex"],
  ),
]);

export function tagWriterFor(prototype: object): TagWriter | undefined {
  const writer = TAG_WRITERS.get(prototype);
  if (writer !== undefined) return writer;
  const bytesName = bytesClassName(prototype);
  if (bytesName !== undefined) return (value, walk) => writeBytes(bytesName, value, walk);
  const errorName = errorClassName(prototype);
  if (errorName !== undefined) return (value, walk) => writeError(errorName, value, walk);
  return undefined;
}

function forClass<T extends object>(
  builtIn: abstract new (...args: never[]) => T,
  write: (value: T, walk: EncodingWalk) => string,
  own: readonly string[] = [],
): [object, TagWriter] {
  const prototype: object = builtIn.prototype;
  return [
    prototype,
    (value, walk) => {
      const extra = Reflect.ownKeys(value).find((key) => !own.includes(String(key)));
      if (extra !== undefined) throw unexpected(extra, builtIn.name, walk);
      if (!(value instanceof builtIn)) throw walk.refusal(`not a genuine ${builtIn.name}`);
      return write(value, walk);
    },
  ];
}

function writeBytes(name: string, value: object, walk: EncodingWalk): string {
  if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) {
    throw walk.refusal(`not a genuine ${name}, although it inherits from ${name}`);
  }
  const [symbol] = Object.getOwnPropertySymbols(value);
  if (symbol !== undefined) throw unexpected(symbol, name, walk);
  const trouble = bytesProblem(value);
  if (trouble !== undefined) throw walk.refusal(trouble);
  return walk.tag("~b", [`"${name}"`, `"${bytesToBase64(value)}"`]);
}

/**
 * Writes the own properties in two groups: hidden ones (not enumerable, such as `message`) and shown ones.
 */
function writeError(name: string, error: object, walk: EncodingWalk): string {
  if (!Error.isError(error)) {
    throw walk.refusal(`not a genuine ${name}, although it inherits from ${name}`);
  }
  const [symbol] = Object.getOwnPropertySymbols(error);
  if (symbol !== undefined) throw unexpected(symbol, name, walk);
  const names = Object.getOwnPropertyNames(error);
  const isShown = (key: string) => Object.prototype.propertyIsEnumerable.call(error, key);
  const shown = names.filter(isShown);
  const hidden = names.filter((key) => !isShown(key));
  const parts = [`"${name}"`, walk.membersText(error, hidden)];
  if (shown.length > 0) parts.push(walk.membersText(error, shown));
  return walk.tag("~e", parts);
}

function unexpected(key: string | symbol, className: string, walk: EncodingWalk): PerdureError {
  return walk.refusalAt(String(key), `a property that a ${className} does not have by itself`);
}
