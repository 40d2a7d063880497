// Failure reading: reads from a thrown value that may be anything. Every read may throw or return nonsense.
//   - No function of this file throws.

import { errorClassName, nearestErrorClassName } from "./error-classes.ts";
import type { Failure } from "./failure-record.ts";

/** The result of `read`; undefined if it throws. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

export function read(object: object, key: string): unknown {
  return attempt((): unknown => Reflect.get(object, key));
}

/** Also true for an error of another realm, and for an object that only inherits from Error. */
export function isErrorLike(value: unknown): value is object {
  return attempt(() => Error.isError(value) || value instanceof Error) ?? false;
}

export function readText(object: object, key: string): string {
  const value = read(object, key);
  return typeof value === "string" ? value : value === undefined ? "" : textOf(value);
}

/**
 * The `name` of the error. If the class of the error only inherits `name`, the name of the class. The
 * `nonRetryable` list of a retry policy is compared with it, and the dashboard shows it.
 */
export function readName(error: object): string {
  const name = readText(error, "name") || "Error";
  return attempt(() => unnamedClass(error, name)) ?? name;
}

function unnamedClass(error: object, name: string): string | undefined {
  const prototype: object | null = Object.getPrototypeOf(error);
  if (prototype === null || Object.hasOwn(error, "name")) return undefined;
  const isInherited =
    errorClassName(prototype) === undefined && nearestErrorClassName(error) === name;
  return isInherited ? readText(prototype.constructor, "name") || undefined : undefined;
}

/** The own enumerable properties, without accessors. */
export function ownData(error: object): [string, unknown][] {
  const names = attempt(() => Object.keys(error)) ?? [];
  return names.flatMap((name): [string, unknown][] => {
    const property = attempt(() => Object.getOwnPropertyDescriptor(error, name));
    return property !== undefined && "value" in property ? [[name, property.value]] : [];
  });
}

/** The errors that an error holds in addition to its cause. */
export function memberErrors(error: object, type: string): unknown[] {
  if (type === "SuppressedError") return [read(error, "error"), read(error, "suppressed")];
  const errors = type === "AggregateError" ? read(error, "errors") : undefined;
  return attempt(() => (Array.isArray(errors) ? errors.slice() : [])) ?? [];
}

export function isFailure(value: unknown): value is Failure {
  if (typeof value !== "object" || value === null) return false;
  const isText = (key: string) => typeof read(value, key) === "string";
  return isText("category") && isText("name") && isText("message");
}

/** The message for a thrown value that is not an Error. */
export function describeThrown(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null) {
    const message = read(value, "message");
    if (typeof message === "string" && message !== "") return message;
  }
  return `${textOf(value)} was thrown, which is not an Error`;
}

function textOf(value: unknown): string {
  const json = typeof value === "object" ? attempt(() => JSON.stringify(value)) : undefined;
  const text = json ?? attempt(() => String(value)) ?? "a value that cannot be read";
  return cut(text, PREVIEW_CHARS_MAX);
}

const PREVIEW_CHARS_MAX = 200;
const CUT_MARK = "… (cut)";

/** The text, cut to at most `charsMax` with the mark, and never inside a surrogate pair. */
export function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  if (charsMax < CUT_MARK.length) return "";
  return `${text.slice(0, charsMax - CUT_MARK.length).replace(/[\uD800-\uDBFF]$/, "")}${CUT_MARK}`;
}
