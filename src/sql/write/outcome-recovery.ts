// Outcome recovery: finds out what became of an item whose commit threw an error (I14).
//   - outcome-recovery.1: Before it reads anything, no statement of the failed commit may still be running.
//     SQLite has rolled the transaction back before the error is thrown. PostgreSQL fences the lost
//     connection off first (write-fence.ts). So the outcome that is found is final.
//   - Null means that nothing was written, or that the store cannot tell. In both cases the caller can send
//     the item again: its token is compared again.
//   - outcome-recovery.2: A turn may have consumed the outcome of a step before the store is asked about it.
//     The outcome is then in the inbox or, after that, in the history, and nowhere else.

import { isPerdureError } from "../../core/errors/errors.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { decodeRow, type HistoryRow } from "../../core/history/rows.ts";
import type {
  CommitItem,
  CommitResult,
  NewInstance,
  SendItem,
  StartItem,
  StepOutcomeItem,
  TurnItem,
} from "../../core/provider/commit.ts";
import type { EnqueueManyItem } from "../../core/provider/enqueue.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { DONE } from "../../core/provider/results.ts";
import { isCancelledBy } from "../../core/provider/shared/outcomes.ts";
import { repeatedSend } from "../../core/provider/shared/requests.ts";
import type { TaskAddress } from "../../core/provider/tasks.ts";
import { integerOrNull } from "../columns.ts";
import type { ReadParts } from "../parts.ts";
import { readHead, readHeadByKey } from "../read/heads.ts";
import { readHistory } from "../read/history.ts";
import { findStart, findStep } from "../read/inbox.ts";
import { first, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";
import { settleAsk } from "./asks.ts";
import { findBulk } from "./bulk-starts.ts";
import { settleCallback } from "./callbacks.ts";
import { settleTaskCall } from "./deferred-tasks.ts";
import { findEarlyMessage } from "./early-messages.ts";
import { settleEnqueue, WRITTEN_KEYS } from "./keyed-starts.ts";
import { findRequest, findStartRequest } from "./requests.ts";
import { settleRewind } from "./rewind.ts";
import { isAppended } from "./streams.ts";

const SELECT_COMMIT = new Statement(`
  SELECT last_commit, lease_token FROM @instances WHERE key = $1`);
const SELECT_TASK = new Statement(`
  SELECT lease_token FROM @tasks WHERE instance = $1 AND execution = $2 AND sequence = $3`);

export function* settle(item: CommitItem, parts: ReadParts): Script<CommitResult | null> {
  switch (item.kind) {
    case "turn":
      return yield* settleTurn(item, parts);
    case "start":
      return yield* settleStart(item, parts);
    case "enqueue":
      return yield* settleEnqueue(item);
    case "enqueueMany":
      return yield* settleMany(item);
    case "completion":
      return (yield* taskToken(item.task)) === undefined ? DONE : null;
    case "retry":
    case "releaseTask":
    case "defer":
      return ((yield* taskToken(item.task)) ?? null) === null ? DONE : null;
    case "send":
      return yield* findSend(item);
    case "ask":
      return yield* settleAsk(item);
    case "callback":
      return yield* settleCallback(item);
    case "callTask":
      return yield* settleTaskCall(item);
    case "withdraw":
      return null; // a second withdrawal changes nothing
    case "append":
      return (yield* isAppended(item)) ? DONE : null;
    case "trim":
      return null; // a second trim changes nothing
    case "cancel":
      return isCancelledBy(yield* readHead(item.id), item) ? DONE : null;
    case "terminate":
      return (yield* readHead(item.id))?.error === item.terminated ? DONE : null;
    case "block":
      return (yield* readHeadByKey(item.key))?.blocked === item.reason ? DONE : null;
    case "stepOutcome":
      return (yield* isWritten(item, parts)) ? DONE : null;
    case "pause":
      return (yield* readHead(item.id))?.paused === item.info ? DONE : null;
    case "resume":
      return (yield* isLiveAndUnpaused(item.id)) ? DONE : null;
    case "unblock":
      return null; // a second unblock changes nothing
    case "fork":
      return yield* findFork(item.instance);
    case "rewind":
      return yield* settleRewind(item);
    case "releaseInstance":
      return (yield* readHeadByKey(item.key))?.token === null ? DONE : null;
  }
}

function* settleTurn(
  { key, commitId, token, messagesMax }: TurnItem,
  parts: ReadParts,
): Script<CommitResult | null> {
  const row = yield* first(SELECT_COMMIT, key);
  if (row === undefined || integerOrNull(row, "last_commit") !== commitId) return null;
  const isHeld = integerOrNull(row, "lease_token") === token;
  const due = isHeld ? yield* parts.due(key, messagesMax) : [];
  return { kind: "committed", due };
}

function* settleStart(item: StartItem, parts: ReadParts): Script<CommitResult | null> {
  const { id, runId, lease } = item;
  const found = yield* readHead(id);
  if (found === null) return null;
  const { key, execution, token, status } = found;
  // A later start has replaced this one, or the id existed before.
  if (found.runId !== runId) return yield* findStartRequest(key, item);
  const { firstTurn } = item;
  const turn = firstTurn === undefined ? null : yield* settleTurn({ ...firstTurn, key }, parts);
  if (turn?.kind === "committed") {
    return { kind: "started", key, execution, leased: null, due: turn.due };
  }
  const isHeld = lease !== null && token === lease.token && !isTerminalStatus(status);
  const leased = isHeld ? yield* findStart(key, parts) : null;
  return { kind: "started", key, execution, leased };
}

function* settleMany(item: EnqueueManyItem): Script<CommitResult | null> {
  const found = yield* findBulk(item, WRITTEN_KEYS);
  return found?.kind === "enqueued" ? found : null;
}

/** Whether the outcome is in the inbox or in the history (outcome-recovery.2). */
function* isWritten(item: StepOutcomeItem, parts: ReadParts): Script<boolean> {
  const waiting = yield* findStep(item, parts);
  if (waiting !== null) return waiting.data === item.outcome;
  const rows = yield* readHistory({ key: item.key, execution: item.execution });
  return rows.some((row) => eventsIn(row).some((event) => isEndOf(event, item)));
}

/** Null: no worker holds the task. Undefined: it does not exist. */
function* taskToken({ key, execution, sequence }: TaskAddress): Script<number | null | undefined> {
  const row = yield* first(SELECT_TASK, key, execution, sequence);
  return row === undefined ? undefined : integerOrNull(row, "lease_token");
}

function* findFork({ id, runId }: NewInstance): Script<CommitResult | null> {
  const found = yield* readHead(id);
  if (found?.runId !== runId) return null;
  return { kind: "started", key: found.key, execution: 1, leased: null };
}

function* findSend(item: SendItem): Script<CommitResult | null> {
  const target = yield* readHead(item.id);
  if (target === null) return yield* findEarlyMessage(item);
  const request = { instance: target.key, kind: "send", id: item.requestId } as const;
  const earlier = yield* findRequest(request);
  return earlier === null ? null : repeatedSend(earlier.digest, item.requestDigest);
}

function* isLiveAndUnpaused(id: string): Script<boolean> {
  const found = yield* readHead(id);
  return found !== null && found.paused === null && !isTerminalStatus(found.status);
}

/** Empty if the row cannot be decoded: the outcome is then unknown. */
function eventsIn(row: HistoryRow): readonly HistoryEvent[] {
  try {
    return decodeRow(row);
  } catch (error) {
    if (isPerdureError(error, "HISTORY_CORRUPT")) return [];
    throw error;
  }
}

function isEndOf(event: HistoryEvent, { sequence }: StepOutcomeItem): boolean {
  const isEnd = event.kind === "StepCompleted" || event.kind === "StepFailed";
  return isEnd && event.scheduled === sequence;
}
