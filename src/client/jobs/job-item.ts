// Job items: the start of a job, checked and encoded before anything is written.
//   - client.jobs.1: If the client has the definition, it writes the first turn with the start (job-code.2), and the job is
//     in the queue at once. A job that is enqueued by name, with a delay, or with a deadline for all its attempts gets its
//     first turn from a worker, like any other instance.
//   - client.jobs.2: What jobs with the same options have in common is checked and encoded once, by their maker. A maker
//     cannot fail later, so all items of a bulk call can be checked before the first one is made.

import { hash } from "node:crypto";
import { checkMembers, invalidArgument, momentOf, type Members } from "../../core/checks.ts";
import type { StartContext } from "../../core/context/app-types.ts";
import {
  encodeContext,
  inheritedMembers,
  type Inherited,
} from "../../core/context/start-context.ts";
import { startAttributes, type Attributes } from "../../core/define/attributes.ts";
import { checkPriority, isActivity, type Activity } from "../../core/define/definitions.ts";
import { checkKeyGiven, parseQueueKey, weightOf } from "../../core/define/queue-settings.ts";
import { terminated } from "../../core/errors/built-in-failures.ts";
import type { OrchestrationStarted } from "../../core/history/events.ts";
import { REPLAY_VERSION } from "../../core/history/replay-version.ts";
import { composeRow } from "../../core/history/rows.ts";
import { sealRow } from "../../core/history/seal.ts";
import { parseInstanceId, parseName, parseRequestId, showValue } from "../../core/ids/ids.ts";
import { JOB_VERSION } from "../../core/ids/semver.ts";
import type { StartItem, TurnItem } from "../../core/provider/commit.ts";
import { JOB_CALL, jobCall } from "../../core/replay/job-code.ts";
import { newTask } from "../../core/replay/new-task.ts";
import { parseDuration, type Duration } from "../../core/time/duration.ts";
import { defined } from "../../core/values/defined.ts";
import { validateToSend } from "../../core/values/standard-schema.ts";
import { requestDigestOf } from "../request-digest.ts";
import type { Store } from "../store.ts";
import type { KeyOptions } from "./enqueue-key.ts";

/** A job, or any other activity; or its name. */
export type AnyJob = Activity<never, unknown> | string;

/** Options of `client.enqueue`. */
export interface EnqueueOptions extends KeyOptions, StartContext {
  /** The id of the job's instance. Default: derived from the request id if there is one, otherwise random. */
  readonly id?: string;
  /** The tenant, user or resource of the job: for `limit.perKey` and `fair` of the job. */
  readonly key?: string;
  /** Begin after this time. Not together with `at`. */
  readonly delay?: Duration;
  /** Begin at this time. Not together with `delay`. */
  readonly at?: Date;
  /** 1 (runs first) to 5 (runs last). Default 3. */
  readonly priority?: number;
  readonly attributes?: Attributes;
  /** Repeated calls with the same request id enqueue one job. */
  readonly requestId?: string;
  /** A digest of the request. The same request id with a different digest raises `KEY_REUSED`. */
  readonly requestDigest?: string;
  /** Your transaction on the store's database, as for `start`: the job exists when you commit. */
  readonly tx?: object;
}

export const ENQUEUE_OPTIONS: Members<EnqueueOptions> = {
  id: true,
  key: true,
  delay: true,
  at: true,
  priority: true,
  attributes: true,
  requestId: true,
  requestDigest: true,
  unique: true,
  debounce: true,
  throttle: true,
  tx: true,
  context: true,
};
const DEFAULT_PRIORITY = 3;
const UNCHANGED = { kind: "none" } as const;
const NONE: readonly never[] = [];
/** The text is the same for every job, so it is made once. */
const TERMINATED = JSON.stringify(terminated("another start replaced the instance"));

/** The ids of one job. */
export interface JobIds {
  readonly id: string;
  readonly runId: string;
}

export function checkJob(target: AnyJob, what: string): string {
  if (typeof target === "string") return parseName(target, "job name");
  if (isActivity(target)) return target.name;
  const got = showValue(target);
  throw invalidArgument(`${what} must be given a job, an activity or its name; got ${got}.`);
}

/** The ids of a job that is enqueued alone. */
export function idsOf(store: Store, name: string, options: EnqueueOptions): JobIds {
  const { environment } = store.provider;
  const { id, requestId } = options;
  const runId = environment.randomHex(16);
  if (id !== undefined) return { id: parseInstanceId(id), runId };
  if (requestId === undefined) return { id: environment.randomHex(16), runId };
  const parts = JSON.stringify(["job", name, parseRequestId(requestId)]);
  return { id: hash("sha256", parts, "hex").slice(0, 32), runId };
}

/** Checks the input against the schema of the definition. The worker checks it again and uses the schema's output. */
export async function checkJobInput(target: AnyJob, input: unknown): Promise<void> {
  if (typeof target === "string" || target.defaults.input === undefined) return;
  await validateToSend(target.defaults.input, input, `input of "${target.name}"`);
}

/** Makes the start of a job from its encoded input (client.jobs.2). */
export type JobMaker = (input: string, ids: JobIds) => StartItem;

/** `traceParent`: the trace of the caller. The options must be checked by `checkMembers`. */
export function jobMaker(
  store: Store,
  target: AnyJob,
  options: EnqueueOptions,
  traceParent?: string,
): JobMaker {
  const name = typeof target === "string" ? target : target.name;
  const what = `job "${name}"`;
  const { priority = DEFAULT_PRIORITY, requestId } = options;
  checkPriority(priority, what);
  const attributes = startAttributes(options.attributes);
  const queueKey = options.key === undefined ? undefined : parseQueueKey(options.key, what);
  const definition = typeof target === "string" ? undefined : target;
  checkKeyGiven(definition?.queue, queueKey, what);
  const due = timing(options);
  const request = {
    requestId: requestId === undefined ? null : parseRequestId(requestId),
    ...requestDigestOf(options),
  };
  const context = encodeContext(options.context, store.codec, what);
  const inherited = inheritedMembers(defined({ traceParent, context }));
  const members = {
    ...defined({ queueKey }),
    ...inherited,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
  };
  const isPlain = definition !== undefined && definition.options.scheduleToCloseMs === undefined;
  const firstTurn =
    !isPlain || Object.keys(due).length > 0
      ? null
      : firstTurnMaker(store, definition, { queueKey, inherited, priority });
  return (input, { id, runId }) => {
    const started: OrchestrationStarted = {
      kind: "OrchestrationStarted",
      name,
      orchestrationVersion: JOB_VERSION,
      input,
      runId,
      seed: runId,
      ...members,
    };
    const item: StartItem = {
      kind: "start",
      id,
      runId,
      name,
      version: JOB_VERSION,
      started: JSON.stringify(started),
      parent: null,
      onParentClose: "cancel",
      priority,
      attributes,
      onConflict: "fail",
      ...request,
      terminated: TERMINATED,
      ...due,
      events: NONE,
      lease: null,
    };
    return firstTurn === null ? item : { ...item, firstTurn: firstTurn(input, item) };
  };
}

interface CallOrigin {
  readonly queueKey: string | undefined;
  readonly inherited: Inherited;
  readonly priority: number;
}

/** client.jobs.1 */
function firstTurnMaker(
  { provider, codec }: Store,
  definition: Activity<never, unknown>,
  { queueKey, inherited, priority }: CallOrigin,
): (input: string, start: StartItem) => TurnItem {
  const { queue } = definition;
  const what = `job "${definition.name}"`;
  const weight = queue === undefined ? undefined : weightOf(queue, queueKey ?? "", what);
  const common = jobCall(definition, { input: "", ...defined({ queueKey }) });
  const task = newTask(JOB_CALL, common, { priority, inherited, weight, lease: null });
  return (input, { id, runId, started }) => {
    const call = JSON.stringify({ ...common, input });
    const data = composeRow(provider.now(), [started, call]);
    const row = { first: 1, last: JOB_CALL, data };
    return {
      kind: "turn",
      commitId: 0,
      key: 0,
      execution: 1,
      token: 0,
      lastEvent: 0,
      version: JOB_VERSION,
      replayVersion: REPLAY_VERSION,
      row: sealRow(row, { id, runId, execution: 1 }, codec.rowSeal),
      consumed: NONE,
      finished: NONE,
      tasks: [{ ...task, input }],
      cancelledTasks: NONE,
      timers: NONE,
      cancelledTimers: NONE,
      starts: NONE,
      sends: NONE,
      change: UNCHANGED,
      state: null,
      cancelRequested: null,
      stepsOpen: false,
      release: true,
      messagesMax: 0,
    };
  };
}

function timing({ delay, at }: { readonly delay?: Duration; readonly at?: Date }): {
  delayMs?: number;
  dueAt?: number;
} {
  if (delay !== undefined && at !== undefined) {
    throw invalidArgument("Give delay or at, not both.");
  }
  if (delay !== undefined) return { delayMs: parseDuration(delay, "delay") };
  return at === undefined ? {} : { dueAt: momentOf(at, "at") };
}

/** Throws for unknown options. */
export function checkEnqueueOptions(options: EnqueueOptions, what: string): void {
  checkMembers(options, ENQUEUE_OPTIONS, what);
}
