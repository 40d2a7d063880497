// The state of an instance as `describe` and lists return it, computed from the instance's record and
// history.

import { attributesOf, type Attributes } from "../../core/define/attributes.ts";
import type { ContextValues } from "../../core/context/app-types.ts";
import type { BlockReason } from "../../core/history/block.ts";
import type { Codec } from "../../core/values/codec.ts";
import type { Failure } from "../../core/errors/failure.ts";
import { readableFailure } from "../../core/errors/failure-seal.ts";
import type {
  OfNode,
  OrchestrationCancelRequested,
  Repair,
  RequestsServed,
} from "../../core/history/events.ts";
import type { Call } from "../../core/history/projection.ts";
import {
  isTerminalStatus,
  type DamagedPart,
  type InstanceRecord,
  type ListedInstance,
  type ListedText,
  type TaskRecord,
} from "../../core/provider/index.ts";
import { NEVER } from "../../core/provider/callbacks.ts";
import { defined } from "../../core/values/defined.ts";
import type { CancelInfo } from "./cancelled.ts";
import { damagedPart, listedErrorOf, outcomeOf, type Outcome } from "../outcome.ts";
import type { OrchestrationError } from "../../core/errors/outcome-errors.ts";
import { errorMessage } from "../../core/errors/errors.ts";

/** The status of an instance, as clients see it. */
export type PublicStatus = InstanceRecord["status"] | "paused";

/** One thing that an instance waits for. In a flow, `node` names the node that waits. */
export type WaitingFor = OfNode &
  (
    | { readonly kind: "timer"; readonly sequence: number; readonly due: Date }
    | {
        readonly kind: "event";
        readonly sequence: number;
        readonly name: string;
        readonly details?: unknown;
        /** Only the engine's own code sends this event. */
        readonly internal?: true;
      }
    | {
        readonly kind: "activity";
        readonly sequence: number;
        readonly name: string;
        readonly attempt: number;
        readonly lastError?: string;
        readonly availableAt?: Date;
        readonly worker?: string;
        /** Why no live runtime accepts the task. Absent: one does, or the task is not due yet. */
        readonly unclaimed?: string;
        /**
         * Set: the attempt has returned, and a call from outside completes the activity (`completeLater`). `availableAt`
         * is then the time at which the attempt times out, if it does.
         */
        readonly completesLater?: true;
        /** The last value that the activity reported with `progress`. */
        readonly progress?: unknown;
      }
    | {
        readonly kind: "step";
        readonly sequence: number;
        readonly name: string;
        readonly attempt: number;
        /** Why the previous attempt failed. Absent: this is the first attempt. */
        readonly lastError?: string;
        /** When this attempt is due. Absent: this is the first attempt. */
        readonly availableAt?: Date;
      }
    | {
        readonly kind: "child";
        readonly sequence: number;
        readonly name: string;
        readonly id: string;
      }
    | {
        /** A call from outside (`ctx.callback`). */
        readonly kind: "callback";
        readonly sequence: number;
        readonly name: string;
        readonly createdAt: Date;
        /** When the wait times out. Absent: never. */
        readonly expiresAt?: Date;
      }
    | {
        /** An answer of the instance `id` to the request `name`. */
        readonly kind: "ask";
        readonly sequence: number;
        readonly name: string;
        readonly id: string;
      }
    | {
        /** Requests of these names. */
        readonly kind: "requests";
        readonly sequence: number;
        readonly names: readonly string[];
        /** The JSON Schemas of the inputs by name, if the schemas of the requests have them. */
        readonly schemas?: Readonly<Record<string, unknown>>;
      }
  );

/** A repair of an instance: what an operator did, why, and who did it. */
export interface RepairInfo extends Omit<Repair, "at"> {
  readonly at: Date;
}

/** The state of an instance: the result of `handle.describe()`. */
export interface InstanceInfo {
  readonly id: string;
  readonly name: string;
  readonly version: string | undefined;
  readonly status: PublicStatus;
  readonly execution: number;
  readonly customStatus?: unknown;
  /** Increases with every commit that sets the custom status. */
  readonly customStatusVersion: number;
  readonly output?: unknown;
  readonly error?: OrchestrationError;
  /**
   * Why the status, output, error, attributes or context cannot be read, for example because a key is missing or a
   * checksum does not match. The members that cannot be read are absent.
   */
  readonly unreadable?: string;
  /** The context of the start. Absent: none, or the first turn is not written yet. Lists do not read it. */
  readonly context?: ContextValues;
  /** The repairs that led to this execution, oldest first. Absent: none. Lists do not read them. */
  readonly repairs?: readonly RepairInfo[];
  readonly blocked?: BlockReason & { readonly since: Date; readonly by: string };
  readonly parent?: { readonly id: string; readonly sequence: number };
  readonly attributes: Attributes;
  readonly priority: number;
  readonly paused?: { readonly reason: string; readonly by?: string; readonly at: Date };
  /** The cancel request. Lists show only its reason and who made it. */
  readonly cancelled?: CancelInfo;
  readonly waitingFor: readonly WaitingFor[];
  /** Why no live runtime can run the instance. Absent: one can. */
  readonly unclaimed?: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly completedAt?: Date;
}

/** An instance in a list. Only `describe` returns the output. */
export interface InstanceSummary extends Omit<
  InstanceInfo,
  "waitingFor" | "output" | "unclaimed" | "context"
> {
  /**
   * Some of what the instance waits for, if the list was asked for it (`waits`): its first activities, timers and
   * children, and the waits that began with its last turn. `describe` returns all of it.
   */
  readonly waitingFor?: readonly WaitingFor[];
  /**
   * Members too long for a list (over 16 KiB as stored), with their size in bytes. `describe` returns them.
   */
  readonly leftOut?: Readonly<Partial<Record<ListedText, number>>>;
}

export function instanceInfo(
  record: InstanceRecord,
  waitingFor: readonly WaitingFor[],
  codec: Codec,
): InstanceInfo {
  const ending = tryRead(() => outcomeOf(record, codec));
  const { value: outcome } = ending;
  const output = outcome?.kind === "value" ? { output: outcome.value } : {};
  return { ...infoOf(record, ending, codec), ...output, waitingFor };
}

export function instanceSummary(
  listed: ListedInstance,
  codec: Codec,
  waitingFor?: readonly WaitingFor[],
): InstanceSummary {
  const { leftOut } = listed;
  const ending = tryRead(() => listedErrorOf(listed, codec));
  const info = infoOf(listed, ending, codec);
  return { ...info, ...defined({ leftOut, waitingFor }) };
}

function infoOf(
  record: Omit<InstanceRecord, "output">,
  ending: ReadResult<Outcome | null>,
  codec: Codec,
): Omit<InstanceInfo, "waitingFor" | "output"> {
  const { parent, customStatus } = record;
  const isDamaged = (part: DamagedPart): boolean => record.damaged?.includes(part) === true;
  const status = tryRead(() => {
    if (isDamaged("customStatus")) throw damagedPart(record, "custom status");
    return customStatus === null ? undefined : codec.decode(customStatus);
  });
  const attributes = tryRead(() => {
    if (isDamaged("attributes")) throw damagedPart(record, "attributes");
    return attributesOf(record.attributes);
  });
  const outcome = ending.value;
  const unreadable = ending.why ?? status.why ?? attributes.why;
  return {
    id: record.id,
    name: record.name,
    version: record.version ?? undefined,
    status: record.paused !== null && !isTerminalStatus(record.status) ? "paused" : record.status,
    execution: record.execution,
    ...(customStatus === null || "why" in status ? {} : { customStatus: status.value }),
    customStatusVersion: record.customStatusVersion,
    ...(outcome?.kind === "error" ? { error: outcome.error } : {}),
    ...defined({ unreadable }),
    ...(record.blocked === null ? {} : { blocked: blockOf(record.blocked) }),
    ...(parent === null ? {} : { parent: { id: parent.id, sequence: parent.sequence } }),
    attributes: attributes.value ?? {},
    priority: record.priority,
    ...(record.paused === null ? {} : { paused: pauseOf(record.paused) }),
    ...(record.cancelRequested === null ? {} : { cancelled: cancelOf(record.cancelRequested) }),
    createdAt: new Date(record.createdAt),
    updatedAt: new Date(record.updatedAt),
    ...(record.completedAt === null ? {} : { completedAt: new Date(record.completedAt) }),
  };
}

type ReadResult<T> =
  { readonly value: T; readonly why?: never } | { readonly value?: never; readonly why: string };

/** Catches the error of a value that cannot be read, so that one such value does not fail a whole list. */
export function tryRead<T>(read: () => T): ReadResult<T> {
  try {
    return { value: read() };
  } catch (error) {
    return { why: errorMessage(error) };
  }
}

function blockOf(text: string): BlockReason & { since: Date; by: string } {
  const block = JSON.parse(text) as BlockReason & { since: number; by: string }; // The engine wrote it.
  return { ...block, since: new Date(block.since) };
}

function pauseOf(text: string): { reason: string; by?: string; at: Date } {
  const pause = JSON.parse(text) as { reason: string; by?: string; at: number }; // A client wrote it.
  return { ...pause, at: new Date(pause.at) };
}

function cancelOf(text: string): { reason: string; by?: string } {
  const { reason, by } = JSON.parse(text) as OrchestrationCancelRequested; // The engine wrote it.
  return by === undefined ? { reason } : { reason, by };
}

/** The part of a task that a wait shows. Lists do not read all of it. */
export type WaitingTask = Pick<
  TaskRecord,
  "sequence" | "attempt" | "availableAt" | "owner" | "isDeferred"
> &
  Partial<Pick<TaskRecord, "lastFailure" | "progress" | "damaged">>;

/** The open calls of an execution, as waits. */
export function waitingFor(
  calls: readonly Call[],
  tasks: readonly WaitingTask[],
  codec: Codec,
): readonly WaitingFor[] {
  const rows = new Map(tasks.map((task) => [task.sequence, task]));
  return calls.map((call) => {
    const { scheduled } = call;
    const wait = waitOf(call, rows.get(scheduled.sequence), codec);
    return "node" in scheduled ? { ...wait, node: scheduled.node } : wait;
  });
}

function waitOf(call: Call, row: WaitingTask | undefined, codec: Codec): WaitingFor {
  const { scheduled } = call;
  const { sequence } = scheduled;
  switch (scheduled.kind) {
    case "TimerCreated":
      return { kind: "timer", sequence, due: new Date(scheduled.due) };
    case "ActivityScheduled":
      return activityWait(sequence, scheduled.name, row, codec);
    case "StepScheduled":
      return stepWait(sequence, scheduled.name, call.failedAttempts.at(-1), codec);
    case "ChildScheduled":
      return { kind: "child", sequence, name: scheduled.name, id: scheduled.id };
    case "CallbackCreated": {
      const { name, at, expiresAt } = scheduled;
      const wait = { kind: "callback", sequence, name, createdAt: new Date(at) } as const;
      return expiresAt === undefined ? wait : { ...wait, expiresAt: new Date(expiresAt) };
    }
    case "AskSent":
      return { kind: "ask", sequence, name: scheduled.name, id: scheduled.id };
    case "RequestsServed":
      return requestsWait(scheduled, codec);
    case "EventSubscribed": {
      const { name, details, internal } = scheduled;
      const shown = details === undefined ? undefined : tryRead(() => codec.decode(details));
      return {
        kind: "event",
        sequence,
        name,
        ...(shown === undefined || "why" in shown ? {} : { details: shown.value }),
        ...defined({ internal }),
      };
    }
  }
}

function requestsWait(
  { sequence, names, schemas }: RequestsServed & { readonly sequence: number },
  codec: Codec,
): WaitingFor {
  const shown = schemas === undefined ? undefined : tryRead(() => codec.decode(schemas));
  const wait = { kind: "requests", sequence, names } as const;
  if (shown === undefined || "why" in shown) return wait;
  const known = shown.value as Readonly<Record<string, unknown>>; // encodeJsonSchemas wrote it
  const entries = Object.entries(known).filter(([name]) => names.includes(name));
  return entries.length === 0 ? wait : { ...wait, schemas: Object.fromEntries(entries) };
}

function stepWait(
  sequence: number,
  name: string,
  lastFailed: Call["failedAttempts"][number] | undefined,
  codec: Codec,
): WaitingFor {
  if (lastFailed === undefined) return { kind: "step", sequence, name, attempt: 1 };
  return {
    kind: "step",
    sequence,
    name,
    attempt: lastFailed.attempt + 1,
    lastError: readableFailure(lastFailed.failure, codec).message,
    availableAt: new Date(lastFailed.due),
  };
}

export function activityWait(
  sequence: number,
  name: string,
  row: WaitingTask | undefined,
  codec: Codec,
): WaitingFor {
  const { lastFailure = null, owner = null, progress = null, damaged = false } = row ?? {};
  const shown = progress === null || damaged ? undefined : tryRead(() => codec.decode(progress));
  const lastError = (stored: string): string =>
    damaged ? "cannot be read: the checksum of the task does not match" : messageOf(stored, codec);
  return {
    kind: "activity",
    sequence,
    name,
    attempt: (row?.attempt ?? 0) + 1,
    ...(lastFailure === null ? {} : { lastError: lastError(lastFailure) }),
    ...(row === undefined || row.availableAt >= NEVER
      ? {}
      : { availableAt: new Date(row.availableAt) }),
    ...(row?.isDeferred === true ? { completesLater: true } : {}),
    ...(owner === null ? {} : { worker: owner }),
    ...(shown === undefined || "why" in shown ? {} : { progress: shown.value }),
  };
}

function messageOf(failure: string, codec: Codec): string {
  const stored = JSON.parse(failure) as Failure; // The engine wrote it.
  return readableFailure(stored, codec).message;
}
