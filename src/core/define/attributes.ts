// Attributes: values by name. `list` finds instances by them.
//   - attributes.1: A value is a text, a number, a boolean or a date. Values of different types never match
//       each other.
//   - attributes.2: Attributes are stored as JSON. A text, a number and a boolean are themselves; a date is
//       `{ "date": milliseconds }`, so it stays distinct from texts and numbers. Earlier versions had only texts.
//   - attributes.3: -0 is stored as 0: both are the same value to a search.

import { invalidArgument } from "../checks.ts";
import { checkStorable, parseName, showValue } from "../ids/ids.ts";
import { attributesOver } from "../values/limits.ts";

/** The value of an attribute. A number must be finite, a date valid. */
export type AttributeValue = string | number | boolean | Date;
/** Attributes by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;
/** The stored form of an attribute (attributes.2). */
export type StoredAttribute = string | number | boolean | { readonly date: number };
/** Attributes in their stored form. */
export type StoredAttributes = Readonly<Record<string, StoredAttribute>>;

/** Attributes as they are recorded. With `mayBeNull`, null removes an attribute. */
export function parseAttributes(
  given: unknown,
  rule: { readonly mayBeNull: false },
): Record<string, StoredAttribute>;
export function parseAttributes(
  given: unknown,
  rule: { readonly mayBeNull: true },
): Record<string, StoredAttribute | null>;
export function parseAttributes(
  given: unknown,
  { mayBeNull }: { readonly mayBeNull: boolean },
): Record<string, StoredAttribute | null> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw invalidArgument(`Attributes must be an object of values; got ${showValue(given)}.`);
  }
  const parsed = Object.entries(given).map(([name, value]: [string, unknown]) => {
    parseName(name, "attribute name");
    if (mayBeNull && value === null) return [name, null] as const;
    return [name, parseAttribute(value, `Attribute "${name}"`, mayBeNull)] as const;
  });
  return Object.fromEntries(parsed);
}

/** The stored form of a value. `what` names it in an error. */
export function parseAttribute(value: unknown, what: string, mayBeNull = false): StoredAttribute {
  switch (typeof value) {
    case "string":
      checkStorable(value, what);
      return value;
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) {
        throw invalidArgument(`${what} must be a finite number; got ${value}.`);
      }
      return value === 0 ? 0 : value; // attributes.3
    default:
      if (value instanceof Date) return { date: dateOf(value, what) };
  }
  const wanted = `a text, a number, a boolean${mayBeNull ? ", a Date or null" : " or a Date"}`;
  throw invalidArgument(`${what} must be ${wanted}; got ${showValue(value)}.`);
}

function dateOf(value: Date, what: string): number {
  const at = value.getTime();
  if (!Number.isNaN(at)) return at;
  throw invalidArgument(`${what} must be a valid Date; got an invalid one.`);
}

/** The attributes of a new instance, in their stored form. Throws if they exceed a limit. */
export function startAttributes(given: unknown): Record<string, StoredAttribute> {
  const attributes = parseAttributes(given ?? {}, { mayBeNull: false });
  const over = attributesOver(attributes);
  if (over !== null) throw over;
  return attributes;
}

export function fromStored(stored: StoredAttribute): AttributeValue {
  return typeof stored === "object" ? new Date(stored.date) : stored;
}

/** Attributes as code sees them. */
export function attributesOf(stored: StoredAttributes): Attributes {
  const entries = Object.entries(stored).map(([name, value]) => [name, fromStored(value)]);
  return Object.fromEntries(entries) as Record<string, AttributeValue>; // one entry per attribute
}

export function isStoredAttribute(value: unknown): value is StoredAttribute {
  if (typeof value !== "object") return ["string", "number", "boolean"].includes(typeof value);
  return value !== null && "date" in value && typeof value.date === "number";
}
