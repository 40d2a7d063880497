// The public types of callbacks in a context.

import type { CallbackAddress, CallbackDef } from "../define/callback.ts";
import type { Duration } from "../time/duration.ts";
import type { StandardSchema } from "../values/standard-schema.ts";
import type { Task } from "./types.ts";

/** Options of `ctx.callback`. */
export interface CallbackOptions<T = unknown> {
  /** How long to wait, from the call on. Then the callback is closed, and the result is null. Default: forever. */
  readonly timeout?: Duration;
  /** Checks the value. A value that it refuses does not complete the callback. It must be synchronous. */
  readonly schema?: StandardSchema<unknown, T>;
}

/** A wait for a call from outside. Pass `url` or `token` to the system that calls. */
export interface CallbackTask<T> extends Task<T>, CallbackAddress {
  /**
   * The headers of the call that `callbacks(client, { headers })` passes on, with names in lower case. Undefined until
   * the value has arrived, and for a call without headers.
   */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** The member `callback` of an orchestration's context. */
export interface CallbackCalls {
  /**
   * Creates an address for a call from outside, and waits for that call. With `timeout`: null when it is over. A value
   * that the schema refuses stays unread, and the wait goes on. In a cancelled scope, `url` and `token` are empty.
   */
  callback<T = unknown>(
    callback: string | CallbackDef<T, never>,
    options?: CallbackOptions<T> & { readonly timeout?: undefined },
  ): CallbackTask<T>;
  callback<T = unknown>(
    callback: string | CallbackDef<T, never>,
    options: CallbackOptions<T>,
  ): CallbackTask<T | null>;
}
