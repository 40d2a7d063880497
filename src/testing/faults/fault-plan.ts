// Fault plan: a function that chooses the fault of each store call.

import type { News } from "../../core/provider/notifications.ts";
import { isWrite, type StoreCall } from "./store-methods.ts";

/** Whether the fault occurs before or after the store executes the call. */
export type Moment = "before" | "after";

/** The fault of one call. */
export type Fault =
  /**
   * The call throws STORE_UNAVAILABLE, or `error`. With `afterMs` it throws after this time, as a timeout
   * does.
   */
  | {
      readonly kind: "fail";
      readonly when: Moment;
      readonly afterMs?: number;
      readonly error?: Error;
    }
  /** The call, or its reply, is delayed. */
  | { readonly kind: "delay"; readonly when: Moment; readonly ms: number }
  /** The process crashes: neither this call nor any later one returns, and no notification arrives. */
  | { readonly kind: "crash"; readonly when: Moment };

/** Chooses the faults of calls and notifications. */
export interface FaultPlan {
  /** Called for every store call; returns its fault, or undefined for none. */
  readonly call?: (call: StoreCall) => Fault | undefined;
  /** Called for every notification of the store; returns false to drop it. */
  readonly news?: (news: News) => boolean;
}

/** A plan with one fault: at the `nth` call, counted from 1, among those for which `among` returns true. */
export function faultAt(
  nth: number,
  fault: Fault,
  among: (call: StoreCall) => boolean = () => true,
): FaultPlan {
  let count = 0;
  return { call: (call) => (among(call) && ++count === nth ? fault : undefined) };
}

/** Whether the call may change instances, messages or tasks. Reads and liveness records do not. */
export function durableWrites(call: StoreCall): boolean {
  return isWrite(call.method);
}
