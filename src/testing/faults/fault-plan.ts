// A plan of faults: what goes wrong with which call, as a function, so that any rule can be written down.

import type { News } from "../../core/provider/notifications.ts";
import { isWrite, type StoreCall } from "./store-methods.ts";

/** Whether the store carries the call out before the fault strikes. */
export type Moment = "before" | "after";

/** What goes wrong with one call. */
export type Fault =
  /** It throws STORE_UNAVAILABLE, or `error`; after `afterMs`, as a call does that is given up. */
  | {
      readonly kind: "fail";
      readonly when: Moment;
      readonly afterMs?: number;
      readonly error?: Error;
    }
  /** It, or its answer, takes longer. */
  | { readonly kind: "delay"; readonly when: Moment; readonly ms: number }
  /** The process is gone: neither this call nor any later one returns, and no news arrives. */
  | { readonly kind: "crash"; readonly when: Moment };

/** What goes wrong, call by call. */
export interface FaultPlan {
  /** Asked about every call; undefined: it goes its way. */
  readonly call?: (call: StoreCall) => Fault | undefined;
  /** Asked about every wake-up; false: it is lost. */
  readonly news?: (news: News) => boolean;
}

/** One call goes wrong: the `nth`, from 1, of those that `among` names; without it, of all. */
export function faultAt(
  nth: number,
  fault: Fault,
  among: (call: StoreCall) => boolean = () => true,
): FaultPlan {
  let count = 0;
  return { call: (call) => (among(call) && ++count === nth ? fault : undefined) };
}

/** Calls that change work, rather than look or say who is there. */
export function durableWrites(call: StoreCall): boolean {
  return isWrite(call.method);
}
