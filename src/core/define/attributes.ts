// Attributes: texts by name. `list` filters instances by them.

import { invalidArgument } from "../checks.ts";
import { checkStorable, parseName, showValue } from "../ids/ids.ts";

/** Attributes as they are recorded. With `mayBeNull`, null removes an attribute. */
export function parseAttributes(
  given: unknown,
  rule: { readonly mayBeNull: false },
): Record<string, string>;
export function parseAttributes(
  given: unknown,
  rule: { readonly mayBeNull: true },
): Record<string, string | null>;
export function parseAttributes(
  given: unknown,
  { mayBeNull }: { readonly mayBeNull: boolean },
): Record<string, string | null> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw invalidArgument(`Attributes must be an object of texts; got ${showValue(given)}.`);
  }
  const parsed: [string, string | null][] = [];
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    parseName(name, "attribute name");
    if (typeof value !== "string" && !(mayBeNull && value === null)) {
      const wanted = mayBeNull ? "a text or null" : "a text";
      throw invalidArgument(`Attribute "${name}" must be ${wanted}; got ${showValue(value)}.`);
    }
    if (value !== null) checkStorable(value, `attribute "${name}"`);
    parsed.push([name, value]);
  }
  return Object.fromEntries(parsed);
}
