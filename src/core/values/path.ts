// Paths: the position of a part of a value, written as the JavaScript expression that reads it.
//   `$.items[3].price`, `$["a b"]`, `$.rates.get("EUR")`, `$.tags.values()[0]`

import { PerdureError } from "../errors/errors.ts";

/** A property, an index, a value of a Map by its key, or a part that has only a position. */
export type Segment =
  | string
  | number
  | { readonly kind: "entry"; readonly key: unknown; readonly index: number }
  | { readonly kind: "key"; readonly index: number }
  | { readonly kind: "element"; readonly index: number };

const PATH_CHARS_MAX = 1_000;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

export function formatPath(segments: readonly Segment[]): string {
  const path = `$${segments.map(formatSegment).join("")}`;
  if (path.length <= PATH_CHARS_MAX) return path;
  const half = PATH_CHARS_MAX / 2;
  return `${path.slice(0, half)} … ${path.slice(-half)}`;
}

/** `what` completes the sentence "it is …", and may end with advice. */
export function refusal(segments: readonly Segment[], what: string, cause?: unknown): PerdureError {
  const path = formatPath(segments);
  const options = cause === undefined ? { path } : { path, cause };
  const message = `${path} cannot be stored: it is ${what}`;
  return new PerdureError("VALUE_NOT_SERIALIZABLE", message, options);
}

/** Describes an object of a class that the codec cannot restore. */
export function describeInstance(prototype: unknown): string {
  const maker: unknown = Object(prototype).constructor;
  const name = typeof maker === "function" ? maker.name : "";
  if (name === "Promise") return "a Promise: await it first";
  const what = name === "" ? "an instance of an unnamed class" : `an instance of class ${name}`;
  return `${what}: store plain data, and create the instance where it is used`;
}

function formatSegment(segment: Segment): string {
  if (typeof segment === "number") return `[${segment}]`;
  if (typeof segment === "string") {
    return IDENTIFIER.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`;
  }
  if (segment.kind === "key") return `.keys()[${segment.index}]`;
  const key = segment.kind === "entry" ? segment.key : undefined;
  if (typeof key === "string") return `.get(${JSON.stringify(key)})`;
  if (typeof key === "number" || typeof key === "boolean") return `.get(${String(key)})`;
  return `.values()[${segment.index}]`;
}
