// Plain JSON check: whether a value survives JSON.stringify and JSON.parse unchanged.

import type { Json } from "./definition.ts";

const DEPTH_MAX = 100;

export function isJson(value: unknown, depth = 0): value is Json {
  if (depth > DEPTH_MAX) return false;
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (Array.isArray(value)) return value.every((member) => isJson(member, depth + 1));
  if (typeof value !== "object") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((member) => isJson(member, depth + 1));
}
