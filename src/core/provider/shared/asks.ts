// Asks: how a repeated ask is answered, and the messages that askers and senders get from the store.

import { askRefusedFailure, refusedAskFailure } from "../../errors/built-in-failures.ts";
import type { AskFailed, SendCompleted, SendFailed } from "../../history/events.ts";
import type {
  Asker,
  AskItem,
  AskResult,
  Dispatch,
  DispatchResult,
  RefusedDispatch,
} from "../asks.ts";
import type { OutgoingMessage } from "../messages.ts";
import { FINISHED, isOtherRequest, KEY_REUSED } from "../results.ts";
import { answerKey, sentKey } from "./message-keys.ts";

/** The stored states of an ask. */
export const ASK_OUTCOMES = ["asked", "answered", "finished"] as const;

/** The row of a request id of kind "ask". */
export interface StoredAsk {
  readonly outcome: (typeof ASK_OUTCOMES)[number];
  readonly execution: number;
  readonly digest: string | null;
  readonly answer: string | null;
}

/** The result of an ask whose request id belongs to an earlier ask. */
export function repeatedAsk(
  { key, hasEnded }: { readonly key: number; readonly hasEnded: boolean },
  { outcome, execution, digest, answer }: StoredAsk,
  given: string | undefined,
): AskResult {
  if (isOtherRequest(digest, given)) return KEY_REUSED;
  if (outcome === "answered") return { kind: "asked", key, execution, answer };
  if (outcome === "finished" || hasEnded) return FINISHED;
  return { kind: "asked", key, execution, answer: null };
}

/** Whether the instance with the id of this ask belongs to another orchestration (provider.asks.5). */
export function isForOther({ start }: Pick<AskItem, "start">, name: string): boolean {
  return start !== null && start.name !== name;
}

/** The message for an instance that asked and gets no answer, because `id` has ended (provider.asks.3). */
export function unanswered(asker: Asker, id: string): OutgoingMessage {
  const { id: to, runId, execution, sequence } = asker;
  const failure = askRefusedFailure("INSTANCE_FINISHED", id);
  const body: AskFailed = { kind: "AskFailed", scheduled: sequence, failure };
  const data = JSON.stringify(body);
  return {
    to: { id: to, runId },
    kind: "answer",
    execution,
    sequence,
    data,
    key: answerKey(asker),
  };
}

/** The message that the sender of a dispatched item gets; null: none (provider.asks.4). */
export function replyToDispatch(
  execution: number,
  { sequence, item, quiet }: Dispatch,
  result: DispatchResult,
): Omit<OutgoingMessage, "to"> | null {
  if (quiet === true && result.kind !== "refused") return null;
  const caller = { execution, sequence };
  switch (item.kind) {
    case "withdraw":
      return null;
    case "ask": {
      if (result.kind !== "refused") return null;
      const failure = refusedAskFailure(result.code, item.id);
      const body: AskFailed = { kind: "AskFailed", scheduled: sequence, failure };
      return { kind: "answer", ...caller, data: JSON.stringify(body), key: answerKey(caller) };
    }
    case "send":
    case "start": {
      const body: SendCompleted | SendFailed =
        result.kind === "refused"
          ? {
              kind: "SendFailed",
              scheduled: sequence,
              failure: askRefusedFailure(result.code, item.id),
            }
          : {
              kind: "SendCompleted",
              scheduled: sequence,
              ...(result.kind === "existing" ? { existing: true } : {}),
            };
      return { kind: "sent", ...caller, data: JSON.stringify(body), key: sentKey(caller) };
    }
  }
}

/** The refused ones of the dispatched items, for the result of the turn. */
export function refusedDispatches(
  results: Iterable<readonly [Dispatch, DispatchResult]>,
): readonly RefusedDispatch[] {
  const refused: RefusedDispatch[] = [];
  for (const [{ sequence }, result] of results) {
    if (result.kind === "refused") refused.push({ sequence, code: result.code });
  }
  return refused;
}
