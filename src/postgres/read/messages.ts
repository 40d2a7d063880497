// Messages: their mapping between rows and the contract, and the time when they become visible.

import { checksumOf } from "../../core/values/checksum.ts";
import type { Message } from "../../core/provider/messages.ts";
import type { Row } from "../../sql/columns.ts";
import { toMessage as toSharedMessage } from "../../sql/rows/messages.ts";

/** A message for an instance that is known by its key. It is visible after a delay, at a due time, or now. */
export interface NewMessage extends Omit<Message, "id" | "visibleAt"> {
  readonly instance: number;
  readonly delay: number | null;
  readonly due_at: number | null;
}

/** A delay or a due time in whole milliseconds, rounded up so that it never ends early (P5). */
export function dueColumns(wanted: { readonly delayMs?: number; readonly dueAt?: number }) {
  const { delayMs = 0, dueAt } = wanted;
  return { delay: wholeMs(delayMs), due_at: dueAt === undefined ? null : wholeMs(dueAt) };
}

/**
 * SQL for the due time of `row`, which has the columns `delay` and `due_at`; `now` defaults to the store's
 * clock.
 */
export function dueTime(row: string, now = "(SELECT @clock())"): string {
  return `least(coalesce(${row}.due_at, ${now} + coalesce(${row}.delay, 0)), ${Number.MAX_SAFE_INTEGER})`;
}

function wholeMs(ms: number): number {
  const bounded = Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER);
  return Math.max(bounded, Number.MIN_SAFE_INTEGER);
}

export const toMessage = (row: Row): Message =>
  toSharedMessage(row, (_, message) => coveredOf(message));

export type ChecksummedMessage = Pick<Message, "sequence" | "kind" | "name" | "key" | "data">;

export function messageChecksum(message: ChecksummedMessage): number {
  return checksumOf(...coveredOf(message));
}

/** The values that the checksum of a message covers (sql/admin/checksums.ts). */
export function coveredOf({ sequence, kind, name, key, data }: ChecksummedMessage) {
  return [sequence, kind, name, key, data] as const;
}
