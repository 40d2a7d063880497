// Validates requests against their schemas. An INVALID_ARGUMENT error names the member and the rule.

import * as v from "valibot";
import { invalidArgument } from "../../core/checks.ts";

export type Schema = v.GenericSchema<unknown, unknown>;
export type QuerySchema = v.StrictObjectSchema<v.ObjectEntries, undefined>;

/** The most issues that one error message lists. */
const ISSUES_MAX = 5;

export function parse<S extends Schema>(schema: S, input: unknown, what: string): v.InferOutput<S> {
  const result = v.safeParse(schema, input);
  if (result.success) return result.output;
  const list = result.issues.slice(0, ISSUES_MAX).map((issue) => {
    const path = v.getDotPath(issue);
    return path === null ? issue.message : `${path}: ${issue.message}`;
  });
  throw invalidArgument(`The ${what} is not valid: ${list.join("; ")}.`);
}

/** Parses a query string. Without a schema, the query must be empty. */
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
      throw invalidArgument(`Unknown query parameter "${key.slice(0, 80)}".`);
    }
    if (isList(entry)) raw[key] = values;
    else if (values.length === 1) raw[key] = values[0];
    else throw invalidArgument(`The query parameter "${key}" must occur only once.`);
  }
  if (attributes.size > 0) {
    if (!Object.hasOwn(entries, "attributes")) {
      throw invalidArgument('Unknown query parameter "attributes".');
    }
    raw["attributes"] = Object.fromEntries(attributes);
  }
  return schema === undefined ? undefined : parse(schema, raw, "query");
}

/** Whether a query parameter may occur several times. */
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
