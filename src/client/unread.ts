// Unread events: sent to an instance and read by no wait yet.
//   UR1. An execution may have taken an event that no wait has read: it is in the history. The others are in the
//        inbox, behind those. Both are read at one moment, so that an event that a turn takes in between counts once.
//   UR2. A page is bounded in number and in bytes; a cursor names the last event seen. After `continueAsNew` the
//        unread events are in the history of the next execution, and a cursor into the history starts there again.

import { PerdureError } from "../core/errors.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { decodeHistory } from "../core/history-row.ts";
import { checkMembers, type Members } from "../core/known-members.ts";
import { Mailbox } from "../core/mailbox.ts";
import type { EventsPage, KeptMessage, Message } from "../core/provider/messages.ts";
import type { Store } from "./store.ts";

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;
const PAGE_BYTES_MAX = 4_000_000;
/** How often an instance that keeps advancing is read before the last answer is taken. */
const LOOKS_MAX = 10;

/** Which page of the unread events. */
export interface UnreadOptions {
  /** Of the previous page. */
  readonly cursor?: string;
  /** 1 to 1,000. Default 100. A page also ends at 4 MB of data. */
  readonly limit?: number;
}
/** An event that was sent and not read. */
export interface UnreadEvent {
  readonly name: string;
  readonly data: unknown;
}
/** One page of unread events. */
export interface UnreadPage {
  readonly items: readonly UnreadEvent[];
  /** Give it to the next call; undefined: there is no more. */
  readonly cursor: string | undefined;
}

const UNREAD_OPTIONS: Members<UnreadOptions> = { cursor: true, limit: true };

type Place =
  | { readonly kind: "history"; readonly execution: number; readonly sequence: number }
  | { readonly kind: "inbox"; readonly id: number };
interface Placed {
  readonly place: Place;
  readonly name: string;
  readonly data: string;
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
  const after = cursor === undefined ? null : placeOf(cursor);
  const { found, more } = await atOneMoment(store, id, after, limit);
  const page = pageOf(found, limit);
  const last = page.at(-1);
  const isLast = !more && page.length === found.length;
  return {
    items: page.map(({ name, data }) => ({ name, data: store.codec.decode(data) })),
    cursor: last === undefined || isLast ? undefined : cursorOf(last.place),
  };
}

/** UR1 */
async function atOneMoment(
  store: Store,
  id: string,
  after: Place | null,
  limit: number,
): Promise<{ readonly found: readonly Placed[]; readonly more: boolean }> {
  let record = await store.record(id);
  for (let look = 1; ; look++) {
    const seen = record;
    const { key, execution, lastEvent } = seen;
    const from = after?.kind === "inbox" ? after.id : null;
    const request = { key, after: from, limit, bytesMax: PAGE_BYTES_MAX };
    const inbox = await store.read((provider) => provider.readEvents(request));
    const rows =
      after?.kind === "inbox"
        ? []
        : await store.read((provider) => provider.readHistory({ key, execution }));
    record = await store.record(id);
    const isSame = record.execution === execution && record.lastEvent === lastEvent;
    if (!isSame && look < LOOKS_MAX) continue;
    const isIn = after?.kind === "history" && after.execution === execution;
    store.verifyRows(seen, execution, rows);
    const past = placedIn(execution, decodeHistory(rows), isIn ? after.sequence : 0);
    return { found: [...past, ...waiting(inbox)], more: inbox.more };
  }
}

function placedIn(execution: number, events: readonly HistoryEvent[], after: number): Placed[] {
  return unreadOf(events).flatMap(({ sequence, message: { name, data } }) =>
    sequence > after ? [{ place: { kind: "history", execution, sequence }, name, data }] : [],
  );
}

function waiting({ messages }: EventsPage): Placed[] {
  return messages.map((message) => {
    if (message.damaged === true) throw damagedMessage(message);
    const { id, name, data } = message;
    return { place: { kind: "inbox", id }, name: name ?? "", data };
  });
}

/** UR2 */
function pageOf(found: readonly Placed[], limit: number): readonly Placed[] {
  let bytes = 0;
  const end = found.findIndex(({ data }, index) => {
    bytes += Buffer.byteLength(data);
    return index >= limit || (index > 0 && bytes > PAGE_BYTES_MAX);
  });
  return end < 0 ? found : found.slice(0, end);
}

/** Events that an execution has taken and no wait has read. */
function unreadOf(
  events: readonly HistoryEvent[],
): readonly { readonly sequence: number; readonly message: KeptMessage }[] {
  const mailbox = new Mailbox<number>();
  const waits = new Map<number, string>();
  const sequences = new Map<KeptMessage, number>();
  for (const event of events) {
    if (event.kind === "EventSubscribed") {
      const taken = event.since === "now" ? null : mailbox.take(event.name);
      if (taken !== null) continue;
      mailbox.wait(event.name, event.sequence);
      waits.set(event.sequence, event.name);
    } else if (event.kind === "EventSubscriptionCancelled") {
      mailbox.forget(waits.get(event.scheduled) ?? "", event.scheduled);
    } else if (event.kind === "EventReceived") {
      const message = { name: event.name, data: event.data, key: event.key ?? null };
      sequences.set(message, event.sequence);
      mailbox.offer(message);
    }
  }
  return mailbox.unread().map((message) => ({ sequence: sequences.get(message) ?? 0, message }));
}

function cursorOf(place: Place): string {
  const text =
    place.kind === "inbox" ? `inbox:${place.id}` : `history:${place.execution}:${place.sequence}`;
  return Buffer.from(text).toString("base64url");
}

function placeOf(cursor: string): Place {
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
  const message = `Message ${id} ("${name ?? ""}") in the inbox is not what was sent: its checksum differs.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}
