// Messages: their shape between rows and the contract, and when they become visible.

import { checksumOf, isDamaged } from "../core/checksum.ts";
import type { Message, MessageKind } from "../core/provider/messages.ts";
import { MESSAGE_KINDS } from "../core/provider/row-checks.ts";
import { integer, integerOrNull, text, textOrNull, word, type Row } from "./columns.ts";

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

/** Of a message `m`. */
export const COLUMNS = `
  m.id, m.kind, m.execution, m.sequence, m.name, m.data, m.key, m.visible_at, m.checksum`;

/** The order of messages `m` (B2). */
export const IN_ORDER = "m.kind = 'start' DESC, m.kind = 'cancel' DESC, m.visible_at, m.id";

/**
 * SQL of the due messages of an instance, at most `most`: the ready ones, and with its start or an event the events
 * that are parked behind it (I3 of inbox.ts).
 */
export function dueMessages(instance: string, most: string): string {
  const isVisible = (row: string) =>
    `${row}.instance = ${instance} AND ${row}.visible_at <= (SELECT @clock())`;
  return `
    SELECT m.* FROM (
      SELECT c.* FROM @inbox AS c
      WHERE ${isVisible("c")} AND c.kind = 'cancel' AND c.key = 'cancel'
      UNION ALL (
        SELECT d.* FROM @inbox AS d WHERE ${isVisible("d")} AND NOT d.parked AND d.kind <> 'cancel'
        ORDER BY d.visible_at, d.id LIMIT ${most}
      )
      UNION ALL (
        SELECT e.* FROM @inbox AS e WHERE ${isVisible("e")} AND e.parked AND e.kind = 'event'
          AND EXISTS (SELECT 1 FROM @inbox AS r
            WHERE ${isVisible("r")} AND NOT r.parked AND r.kind IN ('start', 'event'))
        ORDER BY e.id LIMIT ${most}
      )
    ) AS m ORDER BY ${IN_ORDER} LIMIT ${most}`;
}

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
  return isDamaged(checksum, ...coveredOf(message)) ? { ...message, damaged: true } : message;
}

export type Summed = Pick<Message, "sequence" | "kind" | "name" | "key" | "data">;

export function messageChecksum(message: Summed): number {
  return checksumOf(...coveredOf(message));
}

/** What the checksum of a message covers (checksums.ts). */
function coveredOf({ sequence, kind, name, key, data }: Summed) {
  return [sequence, kind, name, key, data] as const;
}
