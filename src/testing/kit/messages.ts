// Events and requests of a test, to a handle or an id. The caller has checked the types of the arguments, and a
// definition validates its value at run time.

import type { AskOptions } from "../../client/calls/ask-item.ts";
import type { Client } from "../../client/client.ts";
import type { Handle } from "../../client/handle.ts";
import type { EventDef } from "../../core/define/definitions.ts";
import type { AnyRequest, RequestDef } from "../../core/define/request.ts";

export function raiseOf(
  client: Client,
  handle: Handle | string,
  event: EventDef<unknown> | string,
  data: unknown,
): Promise<void> {
  const target = handleOf(client, handle);
  return typeof event === "string" ? target.raise(event, data) : target.raise(event, data);
}

export function askOf(
  client: Client,
  handle: Handle | string,
  request: AnyRequest | string,
  input: unknown,
  options: AskOptions = {},
): Promise<unknown> {
  const target = handleOf(client, handle);
  if (typeof request === "string") return target.ask(request, input, options);
  return target.ask(request as RequestDef<unknown, unknown>, input, options);
}

/** An ask for a script. `send` does not await the answer: time must pass while the instance works on it. */
export function scriptedAsk(
  handle: Handle | string,
  request: AnyRequest | string,
  input: unknown,
  options: AskOptions,
): { readonly send: (client: Client) => void; readonly answer: Promise<unknown> } {
  const { promise: answer, resolve } = Promise.withResolvers<unknown>();
  answer.catch(() => undefined); // the test may never read the answer
  return { send: (client) => resolve(askOf(client, handle, request, input, options)), answer };
}

function handleOf(client: Client, handle: Handle | string): Handle {
  return client.get(typeof handle === "string" ? handle : handle.id);
}
