// Messages: their shape between rows and the contract, and when they become visible.

import type { Message, MessageKind } from "../core/provider/messages.ts";
import { integer, integerOrNull, text, textOrNull, word, type Row } from "./columns.ts";

const KINDS: readonly MessageKind[] = [
  "start",
  "activity",
  "step",
  "child",
  "cancel",
  "event",
  "timer",
  "deadline",
  "stepRetry",
  "cancelTimeout",
  "wake",
];

/** A message of an instance that is known by its key. Its time is a delay or a due time; neither: now. */
export interface NewMessage {
  readonly instance: number;
  readonly kind: MessageKind;
  readonly execution: number | null;
  readonly sequence: number | null;
  readonly name: string | null;
  readonly key: string | null;
  readonly data: string;
  readonly delay: number | null;
  readonly due_at: number | null;
}

/** A delay or a due time in whole milliseconds, rounded so that it is never over too early (P5). */
export function dueColumns(wanted: { readonly delayMs?: number; readonly dueAt?: number }): {
  readonly delay: number;
  readonly due_at: number | null;
} {
  const { delayMs = 0, dueAt } = wanted;
  return { delay: whole(delayMs), due_at: dueAt === undefined ? null : whole(dueAt) };
}

/** SQL of when that is, by the store's clock or another time; `row` has the columns `delay` and `due_at`. */
export function dueTime(row: string, now = "(SELECT @clock())"): string {
  return `least(coalesce(${row}.due_at, ${now} + coalesce(${row}.delay, 0)), ${Number.MAX_SAFE_INTEGER})`;
}

function whole(ms: number): number {
  const bounded = Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER);
  return Math.max(bounded, Number.MIN_SAFE_INTEGER);
}

export function toMessage(row: Row): Message {
  return {
    id: integer(row, "id"),
    kind: word(row, "kind", KINDS),
    execution: integerOrNull(row, "execution"),
    sequence: integerOrNull(row, "sequence"),
    name: textOrNull(row, "name"),
    data: text(row, "data"),
    key: textOrNull(row, "key"),
    visibleAt: integer(row, "visible_at"),
  };
}
