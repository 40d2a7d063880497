// A store as the contract describes it, in plain collections: its state, and how messages enter an inbox.
//   It has no transactions, because no operation can fail halfway. Its time comes from the given clock.

import type { HistoryRow } from "../../../src/core/history/rows.ts";
import type {
  Asker,
  InstanceRecord,
  LeasedTask,
  Message,
  NewInstance,
  OutgoingMessage,
  RuntimeRecord,
  TaskRecord,
} from "../../../src/core/provider/index.ts";
import { isTerminalStatus } from "../../../src/core/provider/instances.ts";
import type { KeptMessage } from "../../../src/core/provider/messages.ts";
import type { ModelStream } from "./model-streams.ts";

/** Waiting this long raises the priority by one (semantics 16). */
export const AGEING_MS = 5 * 60_000;
const KEPT_MS = 7 * 86_400_000;

type Writable<Type> = { -readonly [Name in keyof Type]: Type[Name] };
export interface ModelLease {
  readonly owner: string;
  readonly token: number;
  until: number | null;
}
export interface ModelTask extends Writable<Omit<TaskRecord, "key" | "owner">> {
  readonly input: string;
  readonly priority: number;
  deaths: number;
  heartbeat: string | null;
  /** The runtime whose attempt failed last. */
  avoid: string | null;
  lease: ModelLease | null;
}
export interface ModelInstance {
  readonly record: Writable<Omit<InstanceRecord, "owner">>;
  onParentClose: "cancel" | "abandon";
  replayVersion: number | null;
  lease: ModelLease | null;
  suspicion: number;
  stepsOpen: boolean;
  lastCommit: number | null;
  blockedBy: Set<string>;
  inbox: Message[];
  tasks: ModelTask[];
  /** By execution. */
  readonly history: Map<number, HistoryRow[]>;
  readonly keyValues: Map<string, { readonly value: string; readonly updatedAt: number }>;
  /** By name. */
  readonly streams: Map<string, ModelStream>;
  /** By kind and id. */
  readonly requests: Map<string, ModelRequest>;
}
export interface ModelRequest {
  outcome: string;
  readonly execution: number;
  createdAt: number;
  /** Of an ask. */
  answer?: string | null;
  /** Of an ask: the execution that waits for the answer. */
  asker?: Asker | null;
}
export type Posted = Pick<Message, "kind" | "data" | "visibleAt"> & Partial<Message>;

export class ModelStore {
  instances = new Map<string, ModelInstance>();
  runtimes = new Map<string, RuntimeRecord>();
  kept: { id: string; key: string; name: string; data: string; createdAt: number }[] = [];
  readonly #clock: () => number;
  #drawn = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get now(): number {
    return this.#clock();
  }

  /** A copy with the same state and a different clock. */
  copy(clock: () => number): ModelStore {
    const { instances, runtimes, kept } = structuredClone({ ...this });
    const other = Object.assign(new ModelStore(clock), { instances, runtimes, kept });
    other.#drawn = this.#drawn;
    return other;
  }

  byKey(key: number): ModelInstance | undefined {
    return [...this.instances.values()].find(({ record }) => record.key === key);
  }

  /** Null if the id is taken. */
  create(instance: NewInstance, lease: ModelLease | null): ModelInstance | null {
    if (this.instances.has(instance.id)) return null;
    const { now } = this;
    const { id, runId, name, version, parent, attributes, priority, onParentClose } = instance;
    const key = (this.#drawn += 1);
    const times = { createdAt: now, updatedAt: now, completedAt: null };
    const created: ModelInstance = {
      record: {
        ...{ key, id, runId, name, version, parent, attributes, priority, ...times },
        ...{ execution: 1, status: "pending", lastEvent: 0, copiedUntil: 0 },
        ...{ output: null, error: null, blocked: null, paused: null, cancelRequested: null },
        ...{ customStatus: null, customStatusVersion: 0 },
      },
      ...{ onParentClose, replayVersion: null, lease, suspicion: lease === null ? 0 : 1 },
      ...{ stepsOpen: false, lastCommit: null, blockedBy: new Set(), inbox: [], tasks: [] },
      ...{ history: new Map(), keyValues: new Map(), requests: new Map(), streams: new Map() },
    };
    this.instances.set(id, created);
    return created;
  }

  /** Does nothing if the inbox already has a message of this kind and key (messages.3). */
  post(target: ModelInstance, posted: Posted): Message | null {
    const { kind, key = null } = posted;
    const isThere = (other: Message): boolean => other.kind === kind && other.key === key;
    if (key !== null && target.inbox.some(isThere)) return null;
    const empty = { execution: null, sequence: null, name: null, key: null };
    const message = { ...empty, ...posted, id: (this.#drawn += 1) };
    target.inbox.push(message);
    return message;
  }

  /** Puts unread events of an execution before the waiting events. */
  putBack(target: ModelInstance, events: readonly KeptMessage[]): void {
    const oldest = target.inbox.find(({ kind }) => kind === "event");
    const visibleAt = Math.min(this.now, oldest?.visibleAt ?? this.now);
    for (const event of events.toReversed()) {
      const posted = this.post(target, { kind: "event", ...event, visibleAt });
      if (posted === null) continue;
      target.inbox.pop();
      target.inbox.unshift({ ...posted, id: -posted.id });
    }
  }

  wake(target: ModelInstance): void {
    const { execution } = target.record;
    this.post(target, { kind: "wake", execution, data: "", key: "wake", visibleAt: this.now });
  }

  /** Delivers a message, which never becomes visible before the start or an earlier event. */
  deliver(target: ModelInstance, message: Omit<OutgoingMessage, "to">): void {
    const { kind, sequence, name = null, data, key } = message;
    const isEvent = kind === "event";
    const { execution, status } = target.record;
    if (!isEvent && message.execution !== null && message.execution !== execution) return;
    const start = status === "pending" ? startOf(target)?.visibleAt : undefined;
    const earlier = isEvent ? target.inbox.findLast((other) => other.kind === "event") : undefined;
    const visibleAt = Math.max(this.now, start ?? 0, earlier?.visibleAt ?? 0);
    const addressed = isEvent ? null : execution;
    this.post(target, { kind, execution: addressed, sequence, name, data, key, visibleAt });
  }

  keptFor(id: string): ModelStore["kept"] {
    return this.kept.filter((each) => each.id === id && each.createdAt > this.now - KEPT_MS);
  }

  /** Moves the messages kept for an id to the instance that now has the id. */
  handOver(target: ModelInstance, visibleAt: number): void {
    const { id, execution } = target.record;
    for (const { key, name, data } of this.keptFor(id)) {
      const request = { outcome: "done", execution, createdAt: this.now };
      target.requests.set(`send:${key}`, request);
      this.post(target, { kind: "event", name, data, key, visibleAt });
    }
    this.kept = this.kept.filter((each) => each.id !== id);
  }
}

export function isLive({ record }: ModelInstance): boolean {
  return !isTerminalStatus(record.status);
}
export function startOf({ inbox }: ModelInstance): Message | null {
  return inbox.find(({ kind }) => kind === "start") ?? null;
}
export function inOrder({ inbox }: ModelInstance): Message[] {
  const rankOf = ({ kind }: Message) => (kind === "start" ? 0 : kind === "cancel" ? 1 : 2);
  return inbox.toSorted(
    (a, b) => rankOf(a) - rankOf(b) || a.visibleAt - b.visibleAt || a.id - b.id,
  );
}
export function dueOf(instance: ModelInstance, now: number, max = Infinity): Message[] {
  if (!isLive(instance)) return []; // its events can be read but are no longer delivered
  const due = inOrder(instance).filter(({ visibleAt }) => visibleAt <= now);
  return due.slice(0, max);
}
/** The due time, rounded up. */
export function dueTime({ dueAt, delayMs = 0 }: { dueAt?: number; delayMs?: number }, now: number) {
  return Math.ceil(dueAt ?? now + delayMs);
}
export function append({ history, record }: ModelInstance, row: HistoryRow): void {
  const { execution } = record;
  history.set(execution, [...(history.get(execution) ?? []), row]);
}
/** The target that a runtime must register to lease the instance. */
export function targetOf({ record, replayVersion }: ModelInstance): string {
  if (record.version === null) return record.name;
  const suffix = (replayVersion ?? 1) > 1 ? `#${replayVersion}` : "";
  return `${record.name}@${record.version}${suffix}`;
}
export function toRecord({ record, lease }: ModelInstance): InstanceRecord {
  return { ...record, owner: lease?.owner ?? null };
}
export function toTaskRecord({ record: { key } }: ModelInstance, task: ModelTask): TaskRecord {
  const { execution, sequence, name, attempt, availableAt, tags, session } = task;
  const { suspect, lastFailure, progress, lease } = task;
  const address = { key, execution, sequence };
  const shown = { name, attempt, availableAt, tags, session, suspect, lastFailure, progress };
  return { ...address, ...shown, owner: lease?.owner ?? null };
}
export function toLeasedTask({ record }: ModelInstance, task: ModelTask): LeasedTask {
  const { key, id: instanceId, runId, name: orchestration, version } = record;
  const { execution, sequence, name, input, session, priority, attempt, deaths, suspect } = task;
  const { heartbeat, lease, availableAt } = task;
  return {
    ...{ key, execution, sequence, token: lease?.token ?? 0, instanceId, runId, orchestration },
    ...{ orchestrationVersion: version ?? "", name, input, options: null, session, tags: null },
    ...{ priority, attempt, availableAt, deaths, suspect, heartbeat },
  };
}
