// Callback messages: how the value of a callback is stored in an inbox, and the request id of a callback.
//   - The value is a message of kind "event". Its name and its key begin with a prefix that no event name and no request
//       id of a user has. The name has the event that created the callback, the key also the run and the execution.
//   - The request id has a row in the store while the callback is completed or closed (core/provider/callbacks.ts).

import type { CallbackCall } from "../define/callback.ts";

/** No event name and no request id of a user begins with it (ids.ts). */
export const CALLBACK_PREFIX = "perdure.callback:";

/** The contents of the message, as JSON text. */
export interface CallbackMessage {
  /** Codec text. */
  readonly value: string;
  /** Codec text of the headers; absent: the call had none. */
  readonly headers?: string;
}

/** The name of the message for the callback that this event created. */
export function callbackMessageName(sequence: number): string {
  return `${CALLBACK_PREFIX}${sequence}`;
}

/** Whether the message is the value of a callback. */
export function isCallbackMessage(name: string): boolean {
  return name.startsWith(CALLBACK_PREFIX);
}

/** The event that created the callback. */
export function callbackSequence(messageName: string): number {
  return Number(messageName.slice(CALLBACK_PREFIX.length));
}

/** The request id of a callback or of an activity that completes later, and the key of the message. */
export function callbackRequestId({
  runId,
  execution,
  sequence,
}: Pick<CallbackCall, "runId" | "execution" | "sequence">): string {
  return `${CALLBACK_PREFIX}${runId}:${execution}:${sequence}`;
}

/** Throws if the text is not a callback message. */
export function parseCallbackMessage(text: string): CallbackMessage {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed === "object" && parsed !== null && "value" in parsed) {
    if (typeof parsed.value === "string") return parsed as CallbackMessage; // the client wrote the rest
  }
  throw new Error("The text is not the value of a callback.");
}
