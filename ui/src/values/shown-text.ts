// Formats a value as text: shortened on one line, or complete and indented for the clipboard.

import type { Shown } from "./shown-value.ts";

/** One line of at most `charsMax` characters. */
export function briefText(shown: Shown, charsMax: number): string {
  const text = brief(shown, charsMax);
  return text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text;
}

function brief(shown: Shown, room: number): string {
  if (shown.kind === "leaf") {
    return shown.type === "text" ? JSON.stringify(shown.text.slice(0, room + 1)) : shown.text;
  }
  const [open, close] = shown.brackets;
  const title = shown.title === "" ? "" : `${shown.title} `;
  let text = `${title}${open}`;
  for (const [index, { name, value }] of shown.parts().entries()) {
    if (text.length > room) return `${text}…`;
    const label = name === null ? "" : `${typeof name === "string" ? name : brief(name, 20)}: `;
    text += `${index === 0 ? "" : ", "}${label}${brief(value, room - text.length)}`;
  }
  return `${text}${close}`;
}

/** The text that "copy" puts on the clipboard: a string unchanged, any other value as JSON. */
export function copyTextOf(json: unknown): string {
  if (typeof json === "string") return json;
  return JSON.stringify(json, null, 2) ?? "undefined";
}
