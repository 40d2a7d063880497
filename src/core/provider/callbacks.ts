// Callbacks: calls from outside that complete a wait of an instance, or an activity that completes later.
//   - provider.callbacks.1: A completed callback has a row in the requests of its instance, with its request id. A
//     repeated call then changes nothing and is "done", also after the end of the instance. The row stays as long as the
//     instance.
//   - provider.callbacks.2: A callback is closed if the instance, the run or the execution is another one, if the
//     instance has ended, if its time is over by the store's clock, or if its row says so. A turn writes that row when
//     the code no longer waits, and deletes the row when the receiver has refused the value.
//   - provider.callbacks.3: A deferred task waits for its completion from outside. No runtime owns it, and it keeps its
//     attempt number. It becomes available when its attempt has timed out; the runtime that leases it then records the
//     timeout. If that runtime dies or loses its lease, no death counts for the task, and the task takes no blame for
//     the death of that runtime (blame.ts).
//   - provider.callbacks.4: A call that completes a deferred task also works while a runtime holds the task: the runtime
//     then loses its lease. A call that fails an attempt changes nothing unless the task is still at that attempt.

import type { CallbackCall } from "../define/callback.ts";
import type { TaskClaim } from "./tasks.ts";

/** The call that an item completes. */
export type CallbackTarget = Pick<CallbackCall, "runId" | "execution" | "sequence"> & {
  /** The id of the instance. */
  readonly id: string;
};

/** Sends a value to a callback. */
export interface CallbackItem extends CallbackTarget {
  readonly kind: "callback";
  /** JSON text of CallbackMessage. */
  readonly data: string;
  /** The callback is closed at this time, by the store's clock; 0: never. */
  readonly expiresAt: number;
}

/** What a call from outside does to an activity that completes later. */
export type TaskCall =
  | { readonly kind: "complete"; /** Codec text. */ readonly output: string }
  | {
      readonly kind: "fail";
      /** From 1 on. */
      readonly attempt: number;
      /** JSON text of Failure. */
      readonly failure: string;
      /** The delay before the next attempt that the caller wants; null: that of the retry policy. */
      readonly retryAfterMs: number | null;
      /** From 0 to 1, for the jitter of the delay. */
      readonly random: number;
    }
  | { readonly kind: "heartbeat"; readonly attempt: number };

/** Completes, fails or keeps alive an activity that completes later. */
export interface TaskCallItem extends CallbackTarget {
  readonly kind: "callTask";
  readonly call: TaskCall;
}

/** An attempt has returned, and its task waits for its completion from outside (provider.callbacks.3). */
export interface DeferItem {
  readonly kind: "defer";
  readonly task: TaskClaim;
  /** What is left of the timeout of the attempt; absent: it has none. */
  readonly timeoutMs?: number;
  /** What is left until the next heartbeat must come; absent: none must come. */
  readonly heartbeatMs?: number;
  /** Details of the attempt's last heartbeat; absent: the stored details stay. */
  readonly heartbeat?: string;
  /** Its last progress; absent: the stored progress stays. */
  readonly progress?: string;
}

/** What a turn does to one of its callbacks (provider.callbacks.2). */
export interface CallbackChange {
  readonly requestId: string;
  /** "closed": the code no longer waits. "open": the receiver refused the value, and the wait goes on. */
  readonly state: "closed" | "open";
}

/** When a deferred task without a timeout becomes available: never (in the year 9999). */
export const NEVER = 253_402_300_799_999;
