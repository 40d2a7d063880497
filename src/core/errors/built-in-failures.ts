// Built-in failures: failures that Perdure itself records, because user code did not throw them.
//   - Each of them has one constructor, so that an outcome has the same name, code and message wherever it
//       arises.
//   - The names and codes are stored in histories. They never change.

import type { BlockReason } from "../history/block.ts";
import type { OrchestrationFailed } from "../history/events.ts";
import type { Codec } from "../values/codec.ts";
import { defined } from "../values/defined.ts";
import { toFailure } from "./failure-capture.ts";
import type { Failure } from "./failure-record.ts";
import { CancelledError } from "./outcome-errors.ts";
import { withoutEngineStack } from "./replayed-error.ts";

/** Ends an execution whose code handled a cancel request, or failed while it handled the request. */
export function cancelledRun(reason: string, codec: Codec): OrchestrationFailed {
  const error = withoutEngineStack(new CancelledError(reason));
  const failure = toFailure(error, { kind: "cancelled", retryable: false, codec });
  return { kind: "OrchestrationFailed", outcome: "cancelled", failure };
}

/**
 * Ends an instance that is cancelled while its code cannot run. The failure needs no codec: a store writes
 * it.
 */
export function cancelledWithoutRun(reason: string): OrchestrationFailed {
  const { name, code, message } = new CancelledError(reason);
  const failure = { ...APPLICATION, kind: "cancelled", name, code, message } as const;
  return { kind: "OrchestrationFailed", outcome: "cancelled", failure };
}

/**
 * Ends an instance at once, without running its code. `data`: codec text of properties of the restored error.
 */
export function terminated(reason: string, data?: string): OrchestrationFailed {
  const own = { kind: "terminated", name: "TerminatedError", code: "TERMINATED" } as const;
  const message = `terminated: ${reason}`;
  const failure: Failure = { ...APPLICATION, ...own, message, ...defined({ data }) };
  return { kind: "OrchestrationFailed", outcome: "terminated", failure };
}

/**
 * An attempt exceeded its timeout, or its heartbeats stopped. The retry policy decides whether it runs again.
 */
export function timeoutFailure(what: string): Failure {
  return timeout(`timeout: ${what} timed out`, true);
}

/** An activity exceeded `scheduleToClose`, which covers all attempts: there is no next attempt. */
export function scheduleToCloseFailure(): Failure {
  return timeout("timeout: activity timed out (scheduleToClose)", false);
}

/**
 * The worker thread that ran the attempt exited. The activity's code may be innocent, so the attempt may run
 * again.
 */
export function threadDiedFailure(activity: string, why: string): Failure {
  const message = `the thread of activity ${activity} died: ${why}`;
  return { category: "infrastructure", name: "ThreadDied", message, retryable: true };
}

/**
 * The activity's process died during several attempts, or no worker can read its input. It does not run
 * again.
 */
export function poisonFailure(message: string): Failure {
  return { category: "poison", name: "PoisonError", message, retryable: false };
}

/** The code diverged from the history, and the orchestration's `onNondeterminism` is "fail". */
export function nondeterminismFailure({ code, message }: BlockReason): Failure {
  const name = "NondeterminismError";
  return { category: "configuration", name, code, message, retryable: false };
}

/** No running worker registered the name in time, and the runtime's `unregistered` policy is to fail. */
export function notRegisteredFailure(why: string): Failure {
  const own = { name: "NotRegisteredError", code: "NOT_REGISTERED" };
  const message = `unregistered: ${why}`;
  return { category: "configuration", ...own, message, retryable: false };
}

/** Why the store refused a write of a client, or of one instance to another. */
const REFUSALS = {
  INSTANCE_NOT_FOUND: (id: string) => `There is no instance "${id}".`,
  INSTANCE_FINISHED: (id: string) => `Instance "${id}" has already ended.`,
  INSTANCE_EXISTS: (id: string) => `An instance with id "${id}" already exists.`,
  INSTANCE_RUNNING: (id: string) => `Instance "${id}" is still running.`,
  KEY_REUSED: (id: string) =>
    `The request id was already used for a different request to instance "${id}".`,
  LIMIT_EXCEEDED: (id: string) =>
    `Too many messages wait for instance "${id}", which does not exist; start it first.`,
  CALLBACK_CLOSED: (id: string) => `Instance "${id}" no longer waits for the callback.`,
  LEASE_LOST: (id: string) => `Another runtime holds instance "${id}".`,
} as const;

export type RefusalCode = keyof typeof REFUSALS;

/** The message of a write to instance `id` that the store refused. */
export function refusalMessage(code: RefusalCode, id: string): string {
  return REFUSALS[code](id);
}

/** As `refusalMessage`, for an ask: it is refused with INSTANCE_EXISTS if its start has another name. */
export function askRefusalMessage(code: RefusalCode, id: string): string {
  if (code !== "INSTANCE_EXISTS") return refusalMessage(code, id);
  return `Instance "${id}" belongs to another orchestration than the one that the ask would start.`;
}

/** A message or a start from one instance to another was refused. */
export function askRefusedFailure(code: RefusalCode, id: string): Failure {
  return { ...APPLICATION, name: "PerdureError", code, message: refusalMessage(code, id) };
}

/** As `askRefusedFailure`, for an ask. */
export function refusedAskFailure(code: RefusalCode, id: string): Failure {
  return { ...APPLICATION, name: "PerdureError", code, message: askRefusalMessage(code, id) };
}

const APPLICATION = { category: "application", retryable: false } as const;

function timeout(message: string, retryable: boolean): Failure {
  return { category: "application", kind: "timeout", name: "TimeoutError", message, retryable };
}
