// Messages: their mapping between rows and the contract, and the time when they become visible.

import type { Message } from "../../core/provider/messages.ts";
import type { Row } from "../../sql/columns.ts";
import type { NewMessage } from "../../sql/parts.ts";
import { toMessage as toSharedMessage } from "../../sql/rows/messages.ts";

export type { NewMessage };

export function startMessage(execution: number, data: string, visibleAt: number): NewMessage {
  return { kind: "start", execution, data, visibleAt, sequence: null, name: null, key: null };
}

/** When a delay or a due time ends, on the store's clock, rounded up so that it never ends early (P5). */
export function dueTime(
  wanted: { readonly delayMs?: number; readonly dueAt?: number },
  now: number,
): number {
  const at = wanted.dueAt ?? now + (wanted.delayMs ?? 0);
  return Math.min(Math.ceil(at), Number.MAX_SAFE_INTEGER);
}

export const toMessage = (row: Row): Message => toSharedMessage(row, coveredOf);

/** The values that the checksum of a message covers (sql/admin/checksums.ts). */
export function coveredOf(instance: number, message: NewMessage) {
  const { visibleAt, execution, sequence, kind, name, key, data } = message;
  return [instance, visibleAt, execution, sequence, kind, name, key, data] as const;
}
