// Callbacks: delivers the value of a callback, and what turns do to their callbacks (provider.callbacks).

import { callbackMessageName, callbackRequestId } from "../../core/ids/callback-messages.ts";
import type {
  CallbackChange,
  CallbackItem,
  CallbackTarget,
} from "../../core/provider/callbacks.ts";
import type { SimpleResult } from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { CALLBACK_CLOSED, DONE } from "../../core/provider/results.ts";
import type { RequestOutcome } from "../../core/provider/shared/requests.ts";
import type { StoreParts } from "../parts.ts";
import { lockHead, readHead } from "../read/heads.ts";
import type { InstanceHead } from "../rows/instance-rows.ts";
import type { Scope } from "../script/scope.ts";
import { run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";
import { findRequest } from "./requests.ts";

const INSERT = new Statement(`
  INSERT INTO @requests (instance, kind, id, outcome, execution, created_at, digest)
  VALUES ($1, 'send', $2, $3, $4, @now, $5) ON CONFLICT DO NOTHING`);
const REOPEN = new Statement(`
  DELETE FROM @requests WHERE instance = $1 AND kind = 'send' AND id = $2 AND outcome = 'done'`);

/** Delivers the value, unless the callback was completed before or is closed. */
export function* deliverCallback<S extends Scope>(
  item: CallbackItem,
  scope: S,
  parts: Pick<StoreParts<S>, "post">,
): Script<SimpleResult> {
  const { id, runId, execution, sequence, data, expiresAt } = item;
  const target = yield* lockHead(id);
  const earlier = yield* findCallback(item, target);
  if (earlier !== null) return earlier.outcome === "done" ? DONE : CALLBACK_CLOSED;
  const isOver = expiresAt > 0 && scope.now >= expiresAt;
  if (target === null || !isLive(item, target) || isOver) return CALLBACK_CLOSED;
  const key = callbackRequestId(item);
  yield* recordCallback(target.key, { key, outcome: "done", execution, digest: null });
  const message = { kind: "event", execution: null, sequence: null, data, key } as const;
  yield* parts.post({ to: { id, runId }, name: callbackMessageName(sequence), ...message }, scope);
  return DONE;
}

/** The row of a callback or of an activity that completes later. Null: there is none. */
export function* findCallback(
  item: CallbackTarget,
  target: InstanceHead | null,
): Script<RequestOutcome | null> {
  if (target === null) return null;
  return yield* findRequest({ instance: target.key, kind: "send", id: callbackRequestId(item) });
}

/** For `settle`. A callback that was closed meanwhile is sent again, and refused. */
export function* settleCallback(item: CallbackTarget): Script<SimpleResult | null> {
  const row = yield* findCallback(item, yield* readHead(item.id));
  return row?.outcome === "done" ? DONE : null;
}

/** Whether the execution that waits is the current one. */
export function isLive(
  { runId, execution }: CallbackTarget,
  { runId: current, execution: newest, status }: InstanceHead,
): boolean {
  return current === runId && newest === execution && !isTerminalStatus(status);
}

/** Writes the row of a callback, unless it has one. */
export function* recordCallback(
  instance: number,
  row: Pick<RequestOutcome, "outcome" | "execution" | "digest"> & { readonly key: string },
): Script<void> {
  yield* run(INSERT, instance, row.key, row.outcome, row.execution, row.digest);
}

/** What a turn does to its callbacks. */
export function* changeCallbacks(
  instance: number,
  execution: number,
  changes: readonly CallbackChange[],
): Script<void> {
  for (const { requestId, state } of changes) {
    if (state === "open") yield* run(REOPEN, instance, requestId);
    else yield* run(INSERT, instance, requestId, "closed", execution, null);
  }
}
