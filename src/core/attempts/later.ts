// Activities that complete later: the result of an attempt that called `completeLater`.

import type { CallbackCall } from "../define/callback.ts";
import { PerdureError } from "../errors/errors.ts";
import type { LeasedTask } from "../provider/tasks.ts";
import type { ActivityResult, AttemptResult } from "./run-attempt.ts";

/** What the context of an activity says about its completion. */
export interface LaterContext {
  readonly later: "deferred" | "unconfigured" | null;
}

/**
 * The result of the activity. An attempt that threw has failed, although it called `completeLater`. An attempt that
 * failed because this worker has no settings of callbacks must run on another worker.
 */
export function laterResult(result: AttemptResult, { later }: LaterContext): ActivityResult {
  if (later === null) return result;
  if (result.kind === "completed") return later === "deferred" ? { kind: "deferred" } : result;
  return later === "unconfigured" ? { kind: "unconfigured" } : result;
}

/** The call that the token of an attempt completes. */
export function laterCall(task: LeasedTask): CallbackCall {
  const { instanceId, runId, execution, sequence, orchestration, name } = task;
  const call = { instanceId, runId, execution, sequence, orchestration, name };
  return { kind: "activity", ...call, attempt: task.attempt + 1, expiresAt: 0, isChecked: false };
}

export function laterUnconfigured(): PerdureError {
  const message =
    "completeLater needs the settings of callbacks. Open the store with Perdure.open(address, { callbacks: { secrets, baseUrl } }).";
  return new PerdureError("NOT_CONFIGURED", message);
}
