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

export type NewMessage = Omit<Message, "id">;

export function startMessage(execution: number, data: string, visibleAt: number): NewMessage {
  return { kind: "start", execution, data, visibleAt, sequence: null, name: null, key: null };
}

/** When a delay or a due time is over, by the store's clock; never before (P5). */
export function dueTime(
  wanted: { readonly delayMs?: number; readonly dueAt?: number },
  now: number,
): number {
  const at = wanted.dueAt ?? now + (wanted.delayMs ?? 0);
  return Math.min(Math.ceil(at), Number.MAX_SAFE_INTEGER);
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
