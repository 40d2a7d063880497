// Kept events: events that wait for an instance that does not exist yet, and expired ones (semantics 18a).
//   - A page is limited in events and in bytes. A cursor names the last event of its page.
//   - An event that cannot be read (wrong checksum, missing key) is listed without its data, so that the
//     events after it can be listed too.

import { checkMembers, invalidArgument, type Members } from "../../core/checks.ts";
import { errorMessage } from "../../core/errors/errors.ts";
import { parseInstanceReference, showValue } from "../../core/ids/ids.ts";
import type { KeptRecord } from "../../core/provider/kept.ts";
import type { Codec } from "../../core/values/codec.ts";
import type { Store } from "../store.ts";

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;
const PAGE_BYTES_MAX = 4_000_000;

/** Selects a page of the kept events. */
export interface KeptOptions {
  /** Only events for this instance id. */
  readonly id?: string;
  /** The cursor of the previous page. */
  readonly cursor?: string;
  /** 1 to 1,000. Default 100. A page also ends at 4 MB of data. */
  readonly limit?: number;
}
/** An event that waits for an instance that does not exist yet, or that has expired. */
export interface KeptEvent {
  /** The id of the instance. */
  readonly id: string;
  readonly event: string;
  readonly requestId: string;
  /** Absent if the event has expired. */
  readonly data?: unknown;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** No instance will receive it. The entry is deleted about seven days after the expiry. */
  readonly expired: boolean;
  /** Why the data cannot be read. */
  readonly unreadable?: string;
}
/** One page of kept events. */
export interface KeptPage {
  readonly items: readonly KeptEvent[];
  /** Pass it to the next call. Undefined: this is the last page. */
  readonly cursor: string | undefined;
}

const KEPT_OPTIONS: Members<KeptOptions> = { id: true, cursor: true, limit: true };

export async function readKept(store: Store, options: KeptOptions): Promise<KeptPage> {
  checkMembers(options, KEPT_OPTIONS, "client.kept");
  const { limit = PAGE_DEFAULT, cursor } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    throw invalidArgument(
      `limit must be a whole number from 1 to ${PAGE_MAX}; got ${showValue(limit)}.`,
    );
  }
  const id = options.id === undefined ? null : parseInstanceReference(options.id);
  const after = cursor === undefined ? null : numberOf(cursor);
  const request = { id, after, limit, bytesMax: PAGE_BYTES_MAX };
  const { messages, more } = await store.read((provider) => provider.readKept(request));
  const last = messages.at(-1);
  return {
    items: messages.map((message) => keptEvent(message, store.codec)),
    cursor: more && last !== undefined ? cursorOf(last.number) : undefined,
  };
}

function keptEvent(record: KeptRecord, codec: Codec): KeptEvent {
  const { id, name: event, requestId, data, createdAt, expiresAt } = record;
  return {
    id,
    event,
    requestId,
    ...(record.damaged === true
      ? { unreadable: "The row is corrupt: its checksum does not match." }
      : dataOf(data, codec)),
    createdAt: new Date(createdAt),
    expiresAt: new Date(expiresAt),
    expired: data === null,
  };
}

function dataOf(data: string | null, codec: Codec): Pick<KeptEvent, "data" | "unreadable"> {
  if (data === null) return {};
  try {
    return { data: codec.decode(data) };
  } catch (error) {
    return { unreadable: errorMessage(error) };
  }
}

function cursorOf(number: number): string {
  return Buffer.from(`kept:${number}`).toString("base64url");
}

function numberOf(cursor: string): number {
  const text = typeof cursor === "string" ? Buffer.from(cursor, "base64url").toString() : "";
  const match = /^kept:(\d{1,16})$/.exec(text);
  if (match !== null) return Number(match[1]);
  const got = showValue(cursor);
  throw invalidArgument(`cursor must come from an earlier page of kept events; got ${got}.`);
}
