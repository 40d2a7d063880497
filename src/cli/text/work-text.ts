// Lists work on one line: activities, steps and children by name, and how often.

import { plural } from "./plural.ts";

const NAMES_SHOWN = 20;

export function workText(
  work: readonly { readonly kind: string; readonly name: string; readonly count?: number }[],
): string {
  const sums = new Map<string, number>();
  for (const { kind, name, count = 1 } of work) {
    const text = kind === "timer" ? kind : `${kind} "${name}"`;
    sums.set(text, (sums.get(text) ?? 0) + count);
  }
  const texts = [...sums].map(([text, sum]) => (sum === 1 ? text : `${text} (${sum} times)`));
  const more = texts.length - NAMES_SHOWN;
  const shown = texts.slice(0, NAMES_SHOWN).join(", ");
  return more > 0 ? `${shown} and ${plural(more, "other name")}` : shown;
}
