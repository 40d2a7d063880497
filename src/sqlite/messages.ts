// Messages: their shape between rows and the contract, and when they become visible.

import { isDamaged } from "../core/checksum.ts";
import type { Message } from "../core/provider/messages.ts";
import { MESSAGE_KINDS } from "../core/provider/row-checks.ts";
import { integer, integerOrNull, text, textOrNull, word, type Row } from "./columns.ts";

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

export const COLUMNS =
  "id, instance, kind, execution, sequence, name, data, key, visible_at, checksum";

/** From COLUMNS. */
export function toMessage(row: Row): Message {
  const message: Message = {
    id: integer(row, "id"),
    kind: word(row, "kind", MESSAGE_KINDS),
    execution: integerOrNull(row, "execution"),
    sequence: integerOrNull(row, "sequence"),
    name: textOrNull(row, "name"),
    data: text(row, "data"),
    key: textOrNull(row, "key"),
    visibleAt: integer(row, "visible_at"),
  };
  const checksum = integerOrNull(row, "checksum");
  if (!isDamaged(checksum, ...coveredOf(integer(row, "instance"), message))) return message;
  return { ...message, damaged: true };
}

/** What the checksum of a message covers (checksums.ts). */
export function coveredOf(instance: number, message: NewMessage) {
  const { visibleAt, execution, sequence, kind, name, key, data } = message;
  return [instance, visibleAt, execution, sequence, kind, name, key, data] as const;
}
