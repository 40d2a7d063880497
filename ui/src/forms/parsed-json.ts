// The value of a JSON text. An empty text means no value.

import { messageOf } from "../api/problem.ts";

export type ParsedJson =
  | { readonly kind: "none" }
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "wrong"; readonly why: string };

export function parseJson(text: string): ParsedJson {
  if (text.trim() === "") return { kind: "none" };
  try {
    return { kind: "value", value: JSON.parse(text) as unknown };
  } catch (error) {
    return { kind: "wrong", why: messageOf(error) };
  }
}
