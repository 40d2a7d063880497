// Batched writes: writes the common items of a group with a few statements.
//   - batched-writes.1: The statements run kind by kind, in a fixed lock order, which rules out deadlocks:
//     starts first, because a start may wait for an id and holds no row lock yet; then all instances, in
//     the order of their keys; then tasks, in the order of theirs; then streams (postgres.streams.1).
//   - In one round trip, the batch refuses the transaction where a decision must come first: an event is
//     waiting in the outbox for a receiver, a fence does not hold, a cancel must end its receiver, an instance
//     waits for an answer of one that ends, or a dispatched item is not accepted. In the stepwise mode the
//     caller makes these decisions (commit.ts).
//   - batched-writes.2: A start with a first turn writes both in one round trip. If the start meets an
//     existing id or gets no lease, the insert refuses the transaction, and the stepwise mode writes the
//     start without its turn (commit.5).
//   - The batch cannot answer every item: it leaves over a start whose id exists, and a send or an ask whose
//     receiver is missing. It has written nothing for such an item; the caller handles it alone.

import type {
  CommitResult,
  StartItem,
  StartResult,
  TurnItem,
  TurnResult,
} from "../../core/provider/commit.ts";
import { DONE } from "../../core/provider/results.ts";
import type { Outbox } from "../transactions/outbox.ts";
import type { Instances } from "../read/instances.ts";
import type { InstanceLeases } from "../lease/leases.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { isUnrecorded, type Asks } from "./asks.ts";
import type { BatchedItem } from "./commit-plan.ts";
import { type Dispatches, dispatchedBy, eventsOf, isEventItem } from "./dispatches.ts";
import type { Sends } from "./send.ts";
import type { StartKeys } from "./instance-keys.ts";
import { firstTurnOf, type Starts } from "./start.ts";
import type { StepOutcomes } from "./step-outcomes.ts";
import {
  assumedEntry,
  entriesOf,
  settledBy,
  type CheckedStreams,
  type Streams,
} from "./streams.ts";
import type { TaskRenewal } from "../lease/task-renewal.ts";
import type { Tasks } from "../lease/tasks.ts";
import type { Turns } from "./turn.ts";

export interface BatchWriters {
  readonly outbox: Outbox;
  readonly instances: Instances;
  readonly starts: Starts;
  readonly turns: Turns;
  readonly tasks: Tasks;
  readonly taskRenewal: TaskRenewal;
  readonly streams: Streams;
  readonly sends: Sends;
  readonly asks: Asks;
  readonly dispatches: Dispatches;
  readonly stepOutcomes: StepOutcomes;
  readonly leases: InstanceLeases;
}
/** Null: the batch left the item over. */
export type BatchResults = ReadonlyMap<BatchedItem, CommitResult | null>;

type Kind = BatchedItem["kind"];
type OfKind<K extends Kind> = Extract<BatchedItem, { readonly kind: K }>;
type Writer<Item> = (items: readonly Item[]) => () => readonly (CommitResult | null)[];

interface BatchOptions {
  readonly writers: BatchWriters;
  readonly stepwise: boolean;
  /** Only in the stepwise mode: the appends that passed. They are not among the items. */
  readonly checked?: CheckedStreams;
  /** Keys of the starts whose first turns are written too (batched-writes.2). */
  readonly keys: StartKeys;
}

/**
 * Adds the statements to the pipeline. Call the returned function after the pipeline has run, for the
 * results.
 */
export function writeBatch(
  pipeline: Pipeline,
  items: readonly BatchedItem[],
  changes: ChangeDraft,
  { writers, stepwise, checked, keys }: BatchOptions,
): () => BatchResults {
  const { instances, starts, turns, tasks, sends, asks, dispatches, stepOutcomes, leases, outbox } =
    writers;
  const readers: (() => (readonly [BatchedItem, CommitResult | null])[])[] = [];
  const of = <K extends Kind>(kind: K): OfKind<K>[] =>
    items.filter((item): item is OfKind<K> => item.kind === kind);
  const write = <Item extends BatchedItem>(list: readonly Item[], writer: Writer<Item>): void => {
    if (list.length === 0) return;
    const read = writer(list);
    readers.push(() => pair(list, read()));
  };
  const turnItems = of("turn");
  const startItems = of("start");
  const firstTurns = startItems.flatMap((item) => firstTurnOf(item, keys) ?? []);
  const inserted = new Map([...keys].map(([{ id }, { number }]) => [number, id]));
  const written = [...turnItems, ...firstTurns];
  let dueAfterStarts: ReadonlyMap<number, TurnResult> = new Map();
  write(startItems, (list: readonly StartItem[]) => {
    const read = starts.start(pipeline, list, changes, keys);
    return () => read().map((result) => withDue(result, dueAfterStarts));
  });
  instances.lock(pipeline, touchedBy(items, written));
  if (!stepwise) outbox.refuse(pipeline, receiversIn(items));
  const appends = of("append");
  const completions = of("completion");
  const settling = completions.filter(({ task }) => task.streamValues !== undefined);
  // postgres.streams.2; after the instances are locked, and before an item ends a task
  const held = stepwise ? [] : [...appends, ...settling].map(({ task }) => task);
  const options = { stepwise, inserted, held };
  if (written.length === 0) writers.taskRenewal.hold(pipeline, held);
  const addTurnChanges =
    written.length === 0 ? null : turns.write(pipeline, written, changes, options);
  write(completions, (list) => tasks.complete(pipeline, list, changes));
  write(of("retry"), (list) => tasks.retry(pipeline, list, changes));
  write(of("releaseTask"), (list) => tasks.release(pipeline, list, changes));
  write(of("stepOutcome"), (list) => stepOutcomes.record(pipeline, list, changes));
  const dispatched = stepwise ? [] : dispatchedBy(written);
  const areSends = !items.some((item) => item.kind === "ask" || isUnrecorded(item));
  if (dispatched.length === 0 && areSends) {
    write(of("send"), (list) => sends.send(pipeline, list, changes));
  } else {
    const submitted = items.filter(isEventItem);
    const events = { submitted, dispatched: eventsOf(dispatched) };
    const read = asks.write(pipeline, events, changes);
    readers.push(() => pair(submitted, read()));
    dispatches.replyDone(pipeline, dispatched);
  }
  write(of("releaseInstance"), (list) => leases.release(pipeline, list, changes));
  const entries = [...(checked?.entries ?? appends.map(assumedEntry)), ...entriesOf(written)];
  const settled = [
    ...settledBy(written),
    ...(checked?.settled ?? settling.map(({ task }) => task)),
  ];
  const addStreamed = writers.streams.write(pipeline, entries, settled, changes);
  write(appends, (list) => () => list.map(() => DONE));
  write(turnItems, (list: readonly TurnItem[]) => turns.due(pipeline, list, changes));
  const readFirstDue = firstTurns.length === 0 ? null : turns.due(pipeline, firstTurns, changes);
  return () => {
    addTurnChanges?.();
    addStreamed();
    const due = readFirstDue?.() ?? [];
    dueAfterStarts = new Map(firstTurns.flatMap(({ key }, i) => (due[i] ? [[key, due[i]]] : [])));
    return new Map(readers.flatMap((read) => read()));
  };
}

function pair(items: readonly BatchedItem[], results: readonly (CommitResult | null)[]) {
  return items.map((item, index) => [item, results[index] ?? null] as const);
}

function withDue(
  result: StartResult | null,
  due: ReadonlyMap<number, TurnResult>,
): StartResult | null {
  if (result?.kind !== "started" || result.due === undefined) return result;
  const turn = due.get(result.key);
  return turn?.kind === "committed" ? { ...result, due: turn.due } : result;
}

/** Ids whose waiting outbox events must be delivered before the items are written (outbox.2). */
export function receiversIn(items: readonly BatchedItem[]): string[] {
  const ids = new Set<string>();
  for (const item of items) {
    if (item.kind === "start" || isEventItem(item)) ids.add(item.id);
    if (item.kind === "turn") addEventReceivers(item, ids);
    else if (item.kind === "start" && item.firstTurn !== undefined) {
      addEventReceivers(item.firstTurn, ids);
    }
  }
  return [...ids];
}

function addEventReceivers({ sends, dispatched }: TurnItem, ids: Set<string>): void {
  for (const { kind, to } of sends) if (kind === "event") ids.add(to.id);
  if (dispatched !== undefined) for (const { item } of dispatched) ids.add(item.id);
}

/**
 * The rows to lock in one statement. A batch of turns without sends needs none: the turns' own UPDATE locks
 * their rows, in the same order.
 */
export function touchedBy(
  items: readonly BatchedItem[],
  turns: readonly TurnItem[],
): { readonly keys: number[]; readonly ids: string[] } {
  const keys = items.flatMap((item) =>
    item.kind === "stepOutcome" || item.kind === "releaseInstance" ? [item.key] : [],
  );
  const ids = items.flatMap((item) => (isEventItem(item) ? [item.id] : []));
  for (const { sends, dispatched } of turns) {
    for (const { to } of sends) ids.push(to.id);
    if (dispatched !== undefined) for (const { item } of dispatched) ids.push(item.id);
  }
  if (keys.length + ids.length > 0) keys.push(...turns.map(({ key }) => key));
  return { keys, ids: [...new Set(ids)] };
}
