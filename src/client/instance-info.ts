// What `describe` tells about an instance.

import type { BlockReason } from "../core/block.ts";
import type { Codec } from "../core/codec.ts";
import type { Failure } from "../core/failure.ts";
import { readableFailure } from "../core/failure-seal.ts";
import type { HistoryEvent, OfNode, OrchestrationCancelRequested } from "../core/history-events.ts";
import {
  isTerminalStatus,
  type DamagedPart,
  type InstanceRecord,
  type ListedInstance,
  type ListedText,
  type TaskRecord,
} from "../core/provider/index.ts";
import { damagedPart, listedErrorOf, outcomeOf, type Outcome } from "./outcome.ts";
import type { OrchestrationError } from "../core/outcome-errors.ts";

/** The status of an instance, as it is shown. */
export type PublicStatus = InstanceRecord["status"] | "paused";

/** In a flow every one of them says which node it is for. */
export type WaitingFor = OfNode &
  (
    | { readonly kind: "timer"; readonly sequence: number; readonly due: Date }
    | {
        readonly kind: "event";
        readonly sequence: number;
        readonly name: string;
        readonly details?: unknown;
        /** Only code sends it. */
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
        /** Why no live runtime takes it; absent: one does, or it is not its time yet. */
        readonly unclaimed?: string;
        /** What the activity told last by `progress`. */
        readonly progress?: unknown;
      }
    | {
        readonly kind: "step";
        readonly sequence: number;
        readonly name: string;
        readonly attempt: number;
        /** Why the previous attempt failed; absent: this is the first. */
        readonly lastError?: string;
        /** When this attempt is due, if a previous one failed. */
        readonly availableAt?: Date;
      }
    | {
        readonly kind: "child";
        readonly sequence: number;
        readonly name: string;
        readonly id: string;
      }
  );

/** What `handle.describe()` tells of an instance. */
export interface InstanceInfo {
  readonly id: string;
  readonly name: string;
  readonly version: string | undefined;
  readonly status: PublicStatus;
  readonly execution: number;
  readonly customStatus?: unknown;
  /** Grows with every commit that sets the status. */
  readonly customStatusVersion: number;
  readonly output?: unknown;
  readonly error?: OrchestrationError;
  /**
   * Why its status, output, error or attributes cannot be read, such as for want of a key, or because they are not
   * what was written; what cannot is left out.
   */
  readonly unreadable?: string;
  readonly blocked?: BlockReason & { readonly since: Date; readonly by: string };
  readonly parent?: { readonly id: string; readonly sequence: number };
  readonly attributes: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly paused?: { readonly reason: string; readonly by?: string; readonly at: Date };
  readonly cancelled?: {
    readonly reason: string;
    readonly by?: string;
    /** When the instance took the request. `describe` and `watch` have it, lists do not. */
    readonly at?: Date;
  };
  readonly waitingFor: readonly WaitingFor[];
  /** Why no live runtime can run it; absent: one can. */
  readonly unclaimed?: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly completedAt?: Date;
}

/** What a list shows of an instance. The output, and what the instance waits for, come with `describe`. */
export interface InstanceSummary extends Omit<InstanceInfo, "waitingFor" | "output" | "unclaimed"> {
  /** Members too long for a list (over 16 KiB as stored), with their size in bytes; `describe` has them. */
  readonly leftOut?: Readonly<Partial<Record<ListedText, number>>>;
}

export function instanceInfo(
  record: InstanceRecord,
  waitingFor: readonly WaitingFor[],
  codec: Codec,
): InstanceInfo {
  const ending = told(() => outcomeOf(record, codec));
  const { value: outcome } = ending;
  const output = outcome?.kind === "value" ? { output: outcome.value } : {};
  return { ...infoOf(record, ending, codec), ...output, waitingFor };
}

export function instanceSummary(listed: ListedInstance, codec: Codec): InstanceSummary {
  const { leftOut } = listed;
  const info = infoOf(
    listed,
    told(() => listedErrorOf(listed, codec)),
    codec,
  );
  return leftOut === undefined ? info : { ...info, leftOut };
}

function infoOf(
  record: Omit<InstanceRecord, "output">,
  ending: Told<Outcome | null>,
  codec: Codec,
): Omit<InstanceInfo, "waitingFor" | "output"> {
  const { parent, customStatus } = record;
  const isDamaged = (part: DamagedPart): boolean => record.damaged?.includes(part) === true;
  const status = told(() => {
    if (isDamaged("customStatus")) throw damagedPart(record, "custom status");
    return customStatus === null ? undefined : codec.decode(customStatus);
  });
  const attributes = told(() => {
    if (isDamaged("attributes")) throw damagedPart(record, "attributes");
    return record.attributes;
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
    ...(unreadable === undefined ? {} : { unreadable }),
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

type Told<T> =
  { readonly value: T; readonly why?: never } | { readonly value?: never; readonly why: string };

/** Who looks at many is not to be kept from all of them by a value that cannot be read. */
function told<T>(read: () => T): Told<T> {
  try {
    return { value: read() };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

function blockOf(text: string): BlockReason & { since: Date; by: string } {
  const block = JSON.parse(text) as BlockReason & { since: number; by: string }; // written by the engine
  return { ...block, since: new Date(block.since) };
}

function pauseOf(text: string): { reason: string; by?: string; at: Date } {
  const pause = JSON.parse(text) as { reason: string; by?: string; at: number }; // written by a client
  return { ...pause, at: new Date(pause.at) };
}

function cancelOf(text: string): { reason: string; by?: string } {
  const { reason, by } = JSON.parse(text) as OrchestrationCancelRequested; // written by the engine
  return by === undefined ? { reason } : { reason, by };
}

/** What an execution has asked for and has no outcome of, in schedule order. */
export function waitingFor(
  events: readonly HistoryEvent[],
  tasks: readonly TaskRecord[],
  codec: Codec,
): readonly WaitingFor[] {
  const open = new Map<number, WaitingFor>();
  const unread = new Map<string, number>();
  const waits: { sequence: number; name: string }[] = [];
  const rows = new Map(tasks.map((task) => [task.sequence, task]));
  const nodes = new Map<number, string>();
  for (const event of events) {
    const { sequence } = event;
    if ("node" in event) nodes.set(sequence, event.node);
    if ("scheduled" in event && event.kind !== "StepAttemptFailed") {
      open.delete(event.scheduled);
      const index = waits.findIndex((wait) => wait.sequence === event.scheduled);
      if (index >= 0) waits.splice(index, 1);
      continue;
    }
    switch (event.kind) {
      case "TimerCreated":
        open.set(sequence, { kind: "timer", sequence, due: new Date(event.due) });
        break;
      case "ActivityScheduled":
        open.set(sequence, activityWait(sequence, event.name, rows.get(sequence), codec));
        break;
      case "StepScheduled":
        open.set(sequence, { kind: "step", sequence, name: event.name, attempt: 1 });
        break;
      case "StepAttemptFailed": {
        const step = open.get(event.scheduled);
        if (step?.kind === "step") {
          open.set(event.scheduled, {
            ...step,
            attempt: event.attempt + 1,
            lastError: readableFailure(event.failure, codec).message,
            availableAt: new Date(event.due),
          });
        }
        break;
      }
      case "ChildScheduled":
        open.set(sequence, { kind: "child", sequence, name: event.name, id: event.id });
        break;
      case "EventSubscribed": {
        const { name, since, details, internal } = event;
        const kept = unread.get(name) ?? 0;
        if (kept > 0 && since !== "now") unread.set(name, kept - 1);
        else {
          waits.push({ sequence, name });
          const shown = details === undefined ? undefined : told(() => codec.decode(details));
          const its = shown === undefined || "why" in shown ? {} : { details: shown.value };
          const hidden = internal === undefined ? {} : { internal };
          open.set(sequence, { kind: "event", sequence, name, ...its, ...hidden });
        }
        break;
      }
      case "EventReceived": {
        const index = waits.findIndex((wait) => wait.name === event.name);
        const wait = waits.splice(index, index < 0 ? 0 : 1)[0];
        if (wait === undefined) unread.set(event.name, (unread.get(event.name) ?? 0) + 1);
        else open.delete(wait.sequence);
        break;
      }
      default:
    }
  }
  return [...open.values()].map((wait) => {
    const node = nodes.get(wait.sequence);
    return node === undefined ? wait : { ...wait, node };
  });
}

function activityWait(
  sequence: number,
  name: string,
  row: TaskRecord | undefined,
  codec: Codec,
): WaitingFor {
  const { lastFailure = null, owner = null, progress = null, damaged = false } = row ?? {};
  const shown = progress === null || damaged ? undefined : told(() => codec.decode(progress));
  const lastError = (stored: string): string =>
    damaged ? "cannot be read: it is not what was written" : messageOf(stored, codec);
  return {
    kind: "activity",
    sequence,
    name,
    attempt: (row?.attempt ?? 0) + 1,
    ...(lastFailure === null ? {} : { lastError: lastError(lastFailure) }),
    ...(row === undefined ? {} : { availableAt: new Date(row.availableAt) }),
    ...(owner === null ? {} : { worker: owner }),
    ...(shown === undefined || "why" in shown ? {} : { progress: shown.value }),
  };
}

function messageOf(failure: string, codec: Codec): string {
  const stored = JSON.parse(failure) as Failure; // written by the engine
  return readableFailure(stored, codec).message;
}
