// Streams in the model: every entry ever written, by offset. States are derived from the entries.

import type {
  AppendItem,
  CommitResult,
  StreamItemsState,
  StreamPage,
  StreamWrite,
  TaskClaim,
  TrimItem,
} from "../../../src/core/provider/index.ts";
import { isLive, type ModelInstance, type ModelStore } from "./model-store.ts";

const DONE = { kind: "done" } as const;
const LEASE_LOST = { kind: "refused", code: "LEASE_LOST" } as const;

interface ModelEntry {
  readonly execution: number;
  readonly call: number;
  /** Of an item of an activity. */
  readonly run?: string;
  readonly token?: number;
  readonly value?: string;
  /** Of a reset. */
  readonly from?: number;
  isSettled?: true;
  /** A trim has forgotten the call. */
  isForgotten?: true;
}
export interface ModelStream {
  first: number;
  isClosed: boolean;
  updatedAt: number;
  /** By offset, trimmed ones too. */
  readonly entries: ModelEntry[];
}

/** `isHeld`: whether the claim of the task holds. */
export function appendToStream(store: ModelStore, item: AppendItem, isHeld: boolean): CommitResult {
  const { task, run, position, values } = item;
  const { key, execution, sequence: call, token } = task;
  const owner = store.byKey(key);
  if (owner === undefined || !isHeld) return LEASE_LOST;
  const before = owner.streams.get(item.name)?.entries ?? [];
  const written = writtenBy(before, item);
  if (position + values.length <= written) return DONE;
  if (position > written) return LEASE_LOST;
  if (owner.streams.get(item.name)?.isClosed === true) {
    return { kind: "refused", code: "STREAM_CLOSED" };
  }
  const stream = streamOf(store, owner, item.name);
  const from = stream.entries.findIndex((entry) => isItemOf(entry, task));
  if (written === 0 && from !== -1) stream.entries.push({ execution, call, from });
  for (const value of values.slice(written - position)) {
    stream.entries.push({ execution, call, run, token, value });
  }
  return DONE;
}

/** How many values the run has written, if no other run of its call wrote later. */
export function writtenBy(
  entries: readonly ModelEntry[],
  { task, run }: Pick<AppendItem, "task" | "run">,
): number {
  const items = entries.filter((entry) => isItemOf(entry, task) && entry.isForgotten !== true);
  return items.at(-1)?.run === run ? items.filter((entry) => entry.run === run).length : 0;
}

export function isAppended(store: ModelStore, item: AppendItem): boolean {
  const entries = store.byKey(item.task.key)?.streams.get(item.name)?.entries ?? [];
  return writtenBy(entries, item) >= item.position + item.values.length;
}

export function writeStreams(
  store: ModelStore,
  held: ModelInstance,
  execution: number,
  writes: readonly StreamWrite[],
): void {
  for (const { name, values, closes } of writes) {
    const stream = streamOf(store, held, name);
    for (const value of values) stream.entries.push({ execution, call: 0, value });
    stream.isClosed ||= closes === true;
  }
}

/** Whether no value that the claim names is missing (provider.streams.7). */
export function hasValues({ streams }: ModelInstance, claim: TaskClaim): boolean {
  return (claim.streamValues ?? 0) <= valuesUnder(streams, claim);
}

/** How many values were written under the token of the claim. */
export function valuesUnder(streams: ModelInstance["streams"], claim: TaskClaim): number {
  const entries = [...streams.values()].flatMap((stream) => stream.entries);
  return entries.filter((entry) => isItemOf(entry, claim) && entry.token === claim.token).length;
}

export function settleItems({ streams }: ModelInstance, claim: TaskClaim): void {
  if (claim.streamValues === undefined) return;
  for (const { entries } of streams.values()) {
    for (const entry of entries) {
      if (isItemOf(entry, claim) && entry.token === claim.token) entry.isSettled = true;
    }
  }
}

export function trim(store: ModelStore, { id, name, before }: TrimItem): CommitResult {
  const owner = store.instances.get(id);
  if (owner === undefined) return { kind: "refused", code: "INSTANCE_NOT_FOUND" };
  const stream = owner.streams.get(name);
  const until = Math.min(before, stream?.entries.length ?? 0);
  if (stream === undefined || until <= stream.first) return DONE;
  stream.first = until;
  for (const entry of stream.entries.slice(0, until)) {
    const last = stream.entries.findLastIndex((other) => isSameCall(other, entry));
    if (last < until && !hasTask(owner, entry)) entry.isForgotten = true;
  }
  return DONE;
}

export function reopenStreams({ streams }: ModelInstance): void {
  for (const stream of streams.values()) stream.isClosed = false;
}

export function streamsOf(instance: ModelInstance) {
  return [...instance.streams]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { first, isClosed, updatedAt, entries }]) => ({
      ...{ name, first, next: entries.length, isClosed, updatedAt },
      isOver: isClosed || !isLive(instance),
      entries: entries.flatMap((entry, offset): readonly unknown[] => {
        const { call, execution, value, from } = entry;
        if (offset < first) return [];
        if (from !== undefined) return [{ offset, call, from }];
        return [{ offset, call, execution, value, state: stateOf(instance, entries, offset) }];
      }),
    }));
}

/** The entries of a page in the form of `streamsOf`. */
export function entriesOf({ chunks, first }: StreamPage): readonly unknown[] {
  return chunks.flatMap((chunk): readonly unknown[] => {
    if (chunk.kind === "reset")
      return [{ offset: chunk.offset, call: chunk.call, from: chunk.from }];
    const { call, execution, state } = chunk;
    return chunk.values
      .map((value, index) => ({ offset: chunk.offset + index, call, execution, value, state }))
      .filter(({ offset }) => offset >= first);
  });
}

function stateOf(
  instance: ModelInstance,
  entries: readonly ModelEntry[],
  offset: number,
): StreamItemsState {
  const entry = entries[offset];
  if (entry === undefined || entry.call === 0) return "settled";
  const later = entries.slice(offset);
  if (later.some((other) => isSameCall(other, entry) && other.from !== undefined)) return "void";
  if (entry.isSettled === true) return "settled";
  return hasTask(instance, entry) ? "open" : "void";
}

function streamOf({ now }: ModelStore, { streams }: ModelInstance, name: string): ModelStream {
  const found = streams.get(name) ?? { first: 0, isClosed: false, updatedAt: now, entries: [] };
  found.updatedAt = now;
  streams.set(name, found);
  return found;
}

function isItemOf(entry: ModelEntry, { execution, sequence }: TaskClaim): boolean {
  return entry.execution === execution && entry.call === sequence && entry.from === undefined;
}

function isSameCall(a: ModelEntry, b: ModelEntry): boolean {
  return a.execution === b.execution && a.call === b.call;
}

function hasTask({ tasks }: ModelInstance, { execution, call }: ModelEntry): boolean {
  return tasks.some((task) => task.execution === execution && task.sequence === call);
}
