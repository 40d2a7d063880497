// Unread events: events that were sent to an instance and that no wait has read yet, and requests without an answer.
//   - unread.1: Unread events are in two places. A turn may have moved an event into the history before any
//        wait reads it. Newer events are in the inbox. Both are read for the same moment, so that an event
//        that a turn moves during the read counts once.
//   - unread.2: A page is limited in events and in bytes. A cursor names the last event of its page. After
//        `continueAsNew` the unread events are in the history of the next execution; a cursor into the
//        previous history then starts at the first event of the new one.

import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
import { fromFailure, type Failure } from "../../core/errors/failure.ts";
import { readableFailure } from "../../core/errors/failure-seal.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { decodeHistory } from "../../core/history/rows.ts";
import { checkMembers, type Members } from "../../core/checks.ts";
import {
  callbackSequence,
  isCallbackMessage,
  parseCallbackMessage,
} from "../../core/ids/callback-messages.ts";
import {
  parseRequestMessage,
  requestIdOf,
  requestNameOf,
} from "../../core/ids/request-messages.ts";
import { projectHistory } from "../../core/history/projection.ts";
import type { EventsPage, Message } from "../../core/provider/messages.ts";
import type { Codec } from "../../core/values/codec.ts";
import { defined } from "../../core/values/defined.ts";
import type { Store } from "../store.ts";

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;
const PAGE_BYTES_MAX = 4_000_000;
/** Reads of an instance that keeps advancing before the last read is used as it is. */
const READS_MAX = 10;

/** Selects a page of the unread events. */
export interface UnreadOptions {
  /** The cursor of the previous page. */
  readonly cursor?: string;
  /** 1 to 1,000. Default 100. A page also ends at 4 MB of data. */
  readonly limit?: number;
}
/** An event that was sent and not yet read, or a request without an answer. */
export interface UnreadEvent {
  readonly name: string;
  readonly data: unknown;
  /**
   * Why the schema of a wait refused the event. The event stays unread: the next wait of the code checks it
   * again, and a wait by name takes it. Absent: no schema has refused it in this execution.
   */
  readonly refused?: RefusedData;
  /** Set if it is a request that has no answer yet: its request id. `data` is its input. */
  readonly requestId?: string;
  /** Set if it is a value for the callback of that name: the receiver has refused it, or has not received it yet. */
  readonly callback?: true;
}
/** Why a schema refused a value. */
export interface RefusedData {
  readonly code: string;
  readonly message: string;
  /** The part of the value that the schema refused, such as `$.items[3].price`. */
  readonly path?: string;
}
/** One page of unread events. */
export interface UnreadPage {
  readonly items: readonly UnreadEvent[];
  /** Pass it to the next call. Undefined: this is the last page. */
  readonly cursor: string | undefined;
}

const UNREAD_OPTIONS: Members<UnreadOptions> = { cursor: true, limit: true };

/** Where an unread event is stored. */
type Position =
  | { readonly kind: "history"; readonly execution: number; readonly sequence: number }
  | { readonly kind: "inbox"; readonly id: number };
interface StoredEvent {
  readonly position: Position;
  readonly name: string;
  readonly data: string;
  readonly refused?: Failure;
  readonly requestId?: string;
  readonly callback?: true;
}

export async function readUnread(
  store: Store,
  id: string,
  options: UnreadOptions = {},
): Promise<UnreadPage> {
  checkMembers(options, UNREAD_OPTIONS, "handle.unread");
  const { limit = PAGE_DEFAULT, cursor } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    const message = `limit must be a whole number from 1 to ${PAGE_MAX}; got ${String(limit)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  const after = cursor === undefined ? null : positionOf(cursor);
  const { found, more } = await atOneMoment(store, id, after, limit);
  const page = pageOf(found, limit);
  const last = page.at(-1);
  const isLast = !more && page.length === found.length;
  return {
    items: page.map(({ name, data, refused, requestId, callback }) => ({
      name,
      data: store.codec.decode(data),
      ...defined({ requestId, callback }),
      ...(refused === undefined ? {} : { refused: refusedData(refused, store.codec) }),
    })),
    cursor: last === undefined || isLast ? undefined : cursorOf(last.position),
  };
}

/** unread.1 */
async function atOneMoment(
  store: Store,
  id: string,
  after: Position | null,
  limit: number,
): Promise<{ readonly found: readonly StoredEvent[]; readonly more: boolean }> {
  let record = await store.record(id);
  for (let reads = 1; ; reads++) {
    const seen = record;
    const { key, execution, lastEvent } = seen;
    const afterId = after?.kind === "inbox" ? after.id : null;
    const request = { key, after: afterId, limit, bytesMax: PAGE_BYTES_MAX };
    const inbox = await store.read((provider) => provider.readEvents(request));
    const rows =
      after?.kind === "inbox"
        ? []
        : await store.read((provider) => provider.readHistory({ key, execution }));
    record = await store.record(id);
    const isSame = record.execution === execution && record.lastEvent === lastEvent;
    if (!isSame && reads < READS_MAX) continue;
    const isSameExecution = after?.kind === "history" && after.execution === execution;
    store.verifyRows(seen, execution, rows);
    const from = isSameExecution ? after.sequence : 0;
    const events = decodeHistory(rows);
    const inHistory = unreadInHistory(execution, events, from);
    const found = [...inHistory, ...unreadInInbox(inbox)].map((one) => withCallback(one, events));
    return { found, more: inbox.more };
  }
}

function unreadInHistory(
  execution: number,
  events: readonly HistoryEvent[],
  after: number,
): StoredEvent[] {
  const { unread, requests } = projectHistory(events);
  const positionAt = (sequence: number) => ({ kind: "history", execution, sequence }) as const;
  const found: (StoredEvent & { readonly position: { readonly sequence: number } })[] = [
    ...unread.map(({ sequence, name, data, refused }) => {
      return { position: positionAt(sequence), name, data, ...defined({ refused }) };
    }),
    ...requests.map(({ sequence, name, input, sent: data = input, id: requestId }) => {
      return { position: positionAt(sequence), name, data, requestId };
    }),
  ];
  return found
    .filter(({ position }) => position.sequence > after)
    .sort((a, b) => a.position.sequence - b.position.sequence);
}

/** Replaces the reserved name of a callback's value. Without the history only its number is known. */
function withCallback(stored: StoredEvent, events: readonly HistoryEvent[]): StoredEvent {
  if (!isCallbackMessage(stored.name)) return stored;
  const created = events[callbackSequence(stored.name) - 1];
  const name = created?.kind === "CallbackCreated" ? created.name : stored.name;
  return { ...stored, name, callback: true };
}

function refusedData(failure: Failure, codec: Codec): RefusedData {
  const { code = "INVALID_ARGUMENT", message } = readableFailure(failure, codec);
  const error = fromFailure(failure, codec);
  return { code, message, ...defined({ path: isPerdureError(error) ? error.path : undefined }) };
}

function unreadInInbox({ messages }: EventsPage): StoredEvent[] {
  return messages.map((message) => {
    if (message.damaged === true) throw damagedMessage(message);
    const { id, name, data, key } = message;
    const position = { kind: "inbox", id } as const;
    const request = requestNameOf(name ?? "");
    if (isCallbackMessage(name ?? "")) {
      return { position, name: name ?? "", data: parseCallbackMessage(data).value };
    }
    if (request === null) return { position, name: name ?? "", data };
    const { input } = parseRequestMessage(data);
    return { position, name: request, data: input, requestId: requestIdOf(key ?? "") };
  });
}

/** unread.2 */
function pageOf(found: readonly StoredEvent[], limit: number): readonly StoredEvent[] {
  let bytes = 0;
  const end = found.findIndex(({ data }, index) => {
    bytes += Buffer.byteLength(data);
    return index >= limit || (index > 0 && bytes > PAGE_BYTES_MAX);
  });
  return end < 0 ? found : found.slice(0, end);
}

function cursorOf(position: Position): string {
  const text =
    position.kind === "inbox"
      ? `inbox:${position.id}`
      : `history:${position.execution}:${position.sequence}`;
  return Buffer.from(text).toString("base64url");
}

function positionOf(cursor: string): Position {
  const text = typeof cursor === "string" ? Buffer.from(cursor, "base64url").toString() : "";
  const inbox = /^inbox:(-?\d{1,16})$/.exec(text);
  if (inbox !== null) return { kind: "inbox", id: Number(inbox[1]) };
  const history = /^history:(\d{1,16}):(\d{1,16})$/.exec(text);
  if (history !== null) {
    return { kind: "history", execution: Number(history[1]), sequence: Number(history[2]) };
  }
  const message = `cursor must come from an earlier page of unread events; got "${String(cursor)}".`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

function damagedMessage({ id, name }: Message): PerdureError {
  const message = `Message ${id} ("${name ?? ""}") in the inbox is corrupt: its checksum does not match.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}
