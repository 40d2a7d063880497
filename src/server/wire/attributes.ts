// Converts attributes to JSON and back. Texts, numbers and booleans are themselves, a date is `{ "date": text }`.

import type { AttributesWhere } from "../../client/attribute-where.ts";
import {
  attributesOf,
  type Attributes,
  type AttributeValue,
  type StoredAttribute,
  type StoredAttributes,
} from "../../core/define/attributes.ts";

/** An attribute as JSON. */
export type AttributeShape = string | number | boolean | { readonly date: string };

export function attributeToHttp(value: AttributeValue): AttributeShape {
  return value instanceof Date ? { date: value.toISOString() } : value;
}

export function attributesToHttp(attributes: Attributes): Record<string, AttributeShape> {
  return mapped(attributes, attributeToHttp);
}

/** The attributes of an event. Null: the event removes the attribute. */
export function recordedToHttp(
  recorded: Readonly<Record<string, StoredAttribute | null>>,
): Record<string, AttributeShape | null> {
  const kept = Object.entries(recorded).filter(([, value]) => value !== null);
  const values = attributesToHttp(attributesOf(Object.fromEntries(kept) as StoredAttributes));
  return mapped(recorded, (_, name) => values[name] ?? null);
}

/** Dates anywhere in the tests become JSON. */
export function whereToHttp(where: AttributesWhere): Record<string, unknown> {
  return mapped<unknown, unknown>(where, toJson);
}

function toJson(given: unknown): unknown {
  if (given instanceof Date) return { date: given.toISOString() };
  if (Array.isArray(given)) return given.map(toJson);
  return typeof given === "object" && given !== null ? mapped(given, toJson) : given;
}

/** An attribute from JSON; undefined if it is not one. */
export function attributeFromHttp(json: unknown): AttributeValue | undefined {
  if (typeof json === "string" || typeof json === "number" || typeof json === "boolean")
    return json;
  return dateOf(json);
}

/** Tests from JSON, with their dates. The client checks the rest. */
export function whereFromHttp(json: object): Record<string, unknown> {
  return mapped<unknown, unknown>(json, (test) => fromJson(test));
}

function fromJson(json: unknown): unknown {
  const date = dateOf(json);
  if (date !== undefined) return date;
  if (Array.isArray(json)) return json.map(fromJson);
  return typeof json === "object" && json !== null ? mapped(json, fromJson) : json;
}

function dateOf(json: unknown): Date | undefined {
  if (typeof json !== "object" || json === null || !("date" in json)) return undefined;
  if (typeof json.date !== "string" || Object.keys(json).length > 1) return undefined;
  const date = new Date(json.date);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function mapped<From, To>(
  object: Readonly<Record<string, From>> | object,
  convert: (value: From, name: string) => To,
): Record<string, To> {
  const entries = Object.entries(object) as [string, From][]; // an object of such values
  return Object.fromEntries(entries.map(([name, value]) => [name, convert(value, name)]));
}
