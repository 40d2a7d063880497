// Kept messages: events that wait for an id that does not exist yet (semantics 18a).
//   - kept.1: A message is kept until its time, which its sender may choose (`keepForMs`). After that it is
//     expired: no later instance receives it, and its request id no longer counts as used.
//   - kept.2: No message disappears unreported. An expired message stays in the list until `expireKept` has
//     returned it to a runtime, which logs it, and for EXPIRED_LISTED_MS after that, without its data.

import type { MaybeDamaged } from "../values/checksum.ts";

/** Which kept messages to read. */
export interface KeptRequest {
  /** Only those for this instance id; null: all. */
  readonly id: string | null;
  /** The number of the last message already seen; null: none. */
  readonly after: number | null;
  readonly limit: number;
  /** The maximum size of the data in one page. The first message is always included. */
  readonly bytesMax: number;
}
/** A message that waits for its instance, or that has expired. */
export interface KeptRecord extends MaybeDamaged {
  /** The order in which they were sent. */
  readonly number: number;
  /** The id of the instance that it waits for. */
  readonly id: string;
  readonly name: string;
  /** The sender's request id. */
  readonly requestId: string;
  /** Null: it has expired. */
  readonly data: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}
/** One page of kept messages, in the order in which they were sent. */
export interface KeptRecords {
  readonly messages: readonly KeptRecord[];
  readonly more: boolean;
}
/** A message that `expireKept` marked as expired. */
export type ExpiredRecord = Pick<KeptRecord, "id" | "name" | "createdAt" | "expiresAt">;

/** The part of a provider that lists kept messages and lets them expire. */
export interface KeptStore {
  readKept(request: KeptRequest): Promise<KeptRecords>;
  /**
   * Marks up to `limit` expired messages, removes their data and returns them. Each message is returned by
   * one call. Also deletes up to `limit` entries that were marked EXPIRED_LISTED_MS ago.
   */
  expireKept(limit: number): Promise<readonly ExpiredRecord[]>;
}
