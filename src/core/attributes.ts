// Attributes: texts by name that an instance is found by.

import { PerdureError } from "./errors.ts";
import { checkStorable, parseName, showValue } from "./ids.ts";

/** Attributes as they are recorded; null takes one away, where there is something to take away. */
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
    throw invalid(`Attributes are an object of texts, not ${showValue(given)}.`);
  }
  const parsed: [string, string | null][] = [];
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    parseName(name, "attribute name");
    if (typeof value !== "string" && !(mayBeNull && value === null)) {
      const wanted = mayBeNull ? "a text or null" : "a text";
      throw invalid(`Attribute "${name}" is ${wanted}, not ${showValue(value)}.`);
    }
    if (value !== null) checkStorable(value, `attribute "${name}"`);
    parsed.push([name, value]);
  }
  return Object.fromEntries(parsed);
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
