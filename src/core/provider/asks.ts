// Asks: requests to an instance, and the answers to them.
//   - provider.asks.1: In an inbox, a request is a message of kind "event" with a reserved name and a reserved key
//     (`requestMessage`). So it is ordered, parked, put back and moved like an event. The request id alone
//     identifies it; an event may have the same request id.
//   - provider.asks.2: A request id of an ask is stored with kind "ask". Its row holds the answer from the turn
//     that answered, and the asker while an instance waits for the answer. A repeated ask with the same request
//     id returns the stored answer and sends nothing.
//   - provider.asks.3: When an instance ends, by a turn or without one, or is deleted, every instance that still
//     waits for an answer gets an AskFailed message (INSTANCE_FINISHED) in the same transaction. A client finds
//     out by reading: an ask without an answer at an ended instance is "finished". A restart makes such asks
//     "finished" for good.
//   - provider.asks.4: A turn may dispatch items as a client would submit them. Each is written in the turn's
//     transaction. Unless the turn ends the execution, its result reaches the sender as a message of kind "sent",
//     or "answer" for an ask that is refused. An ask that is accepted has no result until it is answered.
//   - provider.asks.5: An ask with a start is meant for an orchestration. If the instance with its id, running or
//     ended, belongs to another one, the ask is refused (INSTANCE_EXISTS), and the instance is left alone.
//   - provider.asks.6: The request id of a dispatched send with `hasOwnId` derives from the call of the turn, so no
//     other item has it, and the fence of the turn makes the send happen once (I2). A turn with such a send adds the
//     event of the call. If the receiver exists, a store need not look up or remember the id. If the receiver is
//     missing, the id is kept with the message, as that of any send.

import type { Failure } from "../errors/failure-record.ts";
import type { AskStart, SendItem, SimpleResult, StartItem, StartResult } from "./commit.ts";

/** The execution and the call that wait for an answer. */
export interface Asker {
  readonly id: string;
  readonly runId: string;
  readonly execution: number;
  /** The event that recorded the call. */
  readonly sequence: number;
}

/** Sends a request to an instance. */
export interface AskItem {
  readonly kind: "ask";
  readonly id: string;
  /** The name of the message (`requestMessage`). */
  readonly name: string;
  /** JSON text of RequestMessage. */
  readonly data: string;
  /** Remembered like the request id of a send (18a); a generated one only after it was answered. */
  readonly requestId: string;
  /** As in a start. */
  readonly requestDigest?: string;
  /** Null: a client asks, and reads the answer. */
  readonly asker: Asker | null;
  /**
   * Starts the instance in the same transaction if the id does not exist, or if the instance has ended and
   * `onConflict` is "restart". The name must be that of the instance (provider.asks.5).
   */
  readonly start: AskStart | null;
}
/** The result of an ask. */
export type AskResult =
  | {
      readonly kind: "asked";
      readonly key: number;
      readonly execution: number;
      /** The stored answer, if the request id was answered before. */
      readonly answer: string | null;
    }
  | {
      readonly kind: "refused";
      readonly code: "INSTANCE_NOT_FOUND" | "INSTANCE_FINISHED" | "INSTANCE_EXISTS" | "KEY_REUSED";
    };

/**
 * Withdraws a request that no turn has received yet, with its request id. If a turn has received it, the asker
 * no longer waits, and the answer is only stored. Always done.
 */
export interface WithdrawItem {
  readonly kind: "withdraw";
  readonly id: string;
  readonly requestId: string;
}

/** The answer to a request. */
export type Answer =
  | { readonly output: string }
  | { readonly outcome: "refused" | "failed"; readonly failure: Failure };

/** The answer to a request that this instance received. Its row gets the answer and loses its asker. */
export interface NewAnswer {
  readonly requestId: string;
  /** JSON text of Answer. */
  readonly answer: string;
}

/** An item that a turn writes to another instance (provider.asks.4). */
export interface Dispatch {
  /** The event that recorded the call. */
  readonly sequence: number;
  readonly item: SendItem | AskItem | StartItem | WithdrawItem;
  /** The sender gets a message only if the item is refused. */
  readonly quiet?: true;
  /** The item is a send whose request id no other item has (provider.asks.6). */
  readonly hasOwnId?: true;
}
/** The result of a dispatched item. */
export type DispatchResult = SimpleResult | AskResult | StartResult;
/** A dispatched item that was refused. */
export interface RefusedDispatch {
  readonly sequence: number;
  readonly code: Extract<DispatchResult, { readonly kind: "refused" }>["code"];
}

/** The state of an ask. "finished": the instance ended without an answer. */
export type AskState = "open" | "answered" | "finished";
/** What a store knows of an ask. */
export interface AskRecord {
  readonly requestId: string;
  readonly state: AskState;
  /** Set if it was answered. */
  readonly answer: string | null;
  /** The stored checksum does not match the answer. */
  readonly damaged?: true;
}
/** Asks of one instance; those that the store does not know are absent. */
export interface AskRecords {
  readonly key: number;
  readonly asks: readonly AskRecord[];
}
