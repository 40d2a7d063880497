// Requests against their schemas: what does not fit is INVALID_ARGUMENT, with its place and the rule.

import * as v from "valibot";
import { PerdureError } from "../core/errors.ts";

export type Schema = v.GenericSchema<unknown, unknown>;
export type QuerySchema = v.StrictObjectSchema<v.ObjectEntries, undefined>;

/** So many are told of; more would help nobody. */
const ISSUES_MAX = 5;

export function parse<S extends Schema>(schema: S, input: unknown, what: string): v.InferOutput<S> {
  const result = v.safeParse(schema, input);
  if (result.success) return result.output;
  const list = result.issues.slice(0, ISSUES_MAX).map((issue) => {
    const place = v.getDotPath(issue);
    return place === null ? issue.message : `${place}: ${issue.message}`;
  });
  throw invalid(`The ${what} is not valid: ${list.join("; ")}.`);
}

/** A query by its schema; without one, nothing may be asked. */
export function parseQuery(schema: QuerySchema | undefined, url: string): unknown {
  const given = new Map<string, string[]>();
  const attributes = new Map<string, string>();
  for (const [key, value] of new URL(url).searchParams) {
    const attribute = /^attributes\[(.*)\]$/s.exec(key)?.[1];
    if (attribute === undefined) given.set(key, [...(given.get(key) ?? []), value]);
    else attributes.set(attribute, value);
  }
  const entries = schema?.entries ?? {};
  const raw: Record<string, unknown> = {};
  for (const [key, values] of given) {
    const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
    if (entry === undefined || key === "attributes") {
      throw invalid(`The query has an unknown member "${key.slice(0, 80)}".`);
    }
    if (isList(entry)) raw[key] = values;
    else if (values.length === 1) raw[key] = values[0];
    else throw invalid(`The query has "${key}" more than once.`);
  }
  if (attributes.size > 0) {
    if (!Object.hasOwn(entries, "attributes")) throw invalid("The query takes no attributes.");
    raw["attributes"] = Object.fromEntries(attributes);
  }
  return schema === undefined ? undefined : parse(schema, raw, "query");
}

/** Whether a member may be given several times. */
export function isList(entry: v.ObjectEntries[string]): boolean {
  const inner: { readonly type: string } = "wrapped" in entry ? unwrapped(entry) : entry;
  return inner.type === "array";
}

function unwrapped(entry: { readonly wrapped: unknown }): { readonly type: string } {
  const { wrapped } = entry;
  return typeof wrapped === "object" && wrapped !== null && "type" in wrapped
    ? { type: String(wrapped.type) }
    : { type: "" };
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
