// Request messages: how a request is stored in an inbox (provider.asks.1).
//   - A request is a message of kind "event". Its name and its key begin with a prefix that no event name and no
//       request id of a user has, so that a request and an event never meet.

import type { ParentLink } from "../history/events.ts";

/** No event name and no request id of a user begins with it (ids.ts). */
export const REQUEST_PREFIX = "perdure.request:";

/** The contents of a request in an inbox, as JSON text. */
export interface RequestMessage {
  /** Codec text. */
  readonly input: string;
  /** Absent: a client asks. */
  readonly from?: ParentLink;
  readonly chain?: readonly string[];
}

/** The name of the message for a request of this name. */
export function requestMessageName(name: string): string {
  return REQUEST_PREFIX + name;
}

/** The name of the request; null: the message is an event. */
export function requestNameOf(messageName: string): string | null {
  return messageName.startsWith(REQUEST_PREFIX) ? messageName.slice(REQUEST_PREFIX.length) : null;
}

/** The key of the message with this request id. */
export function requestMessageKey(requestId: string): string {
  return REQUEST_PREFIX + requestId;
}

export function requestIdOf(messageKey: string): string {
  return messageKey.startsWith(REQUEST_PREFIX)
    ? messageKey.slice(REQUEST_PREFIX.length)
    : messageKey;
}

/** Throws if the text is not a request message. */
export function parseRequestMessage(text: string): RequestMessage {
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && "input" in value) {
    if (typeof value.input === "string") return value as RequestMessage; // the engine wrote the rest
  }
  throw new Error("The text is not a request.");
}
