// Drafts of a rewind: the instances that it concerns, their histories and their cuts.
//   - drafts.1: With `tree`, the ancestors that received the end of the instance are cut before that event.
//   - drafts.2: With `tree`, each child that has ended without a result goes on too if the past of its parent waits for it:
//        the child that failed, and its siblings that failed or were cancelled with it. A sibling that was started again
//        instead would repeat its completed work under new keys, in every repair in which another sibling fails.
//   - drafts.3: A child without a past, or whose past waits for a closed callback, cannot go on. It is started again.

import { PerdureError } from "../../core/errors/errors.ts";
import { openFailure } from "../../core/errors/failure.ts";
import type { BlockReason } from "../../core/history/block.ts";
import type { ChildScheduled, HistoryEvent, ParentLink } from "../../core/history/events.ts";
import { decodeHistory, type HistoryRow } from "../../core/history/rows.ts";
import { childInstanceId } from "../../core/ids/ids.ts";
import { isTerminalStatus, type InstanceRecord } from "../../core/provider/index.ts";
import { cutBefore, failureCut, type RewindPoint } from "../../core/repair/cut.ts";
import { closedCallback, hasPast, openChildren, pastBefore } from "../../core/repair/past.ts";
import { replaceOutcomes, type Replacement } from "../../core/repair/replace.ts";
import { madeIn } from "../../core/replay/fork.ts";
import { incompleteHistory } from "../inspect/history-part.ts";
import { covers, WHOLE } from "../inspect/history-reader.ts";
import type { Store } from "../store.ts";

/** The maximum number of instances of one rewind. They are written in one transaction. */
const TREE_MAX = 1_000;

/** An instance that has ended or is blocked, its history, and where the history is cut. */
export interface Draft {
  readonly record: InstanceRecord;
  readonly rows: readonly HistoryRow[];
  readonly events: readonly HistoryEvent[];
  readonly before: number;
}

/** The drafts of a rewind, each parent before its child. `own`: the draft of the instance itself. */
export interface Drafts {
  readonly all: readonly Draft[];
  readonly own: Draft;
  /** The execution of the first draft's parent that does not wait for its end; null: it may wait. */
  readonly unawareParent: number | null;
}

export async function draftsOf(
  store: Store,
  id: string,
  options: RewindPoint & { readonly tree?: boolean; readonly replace?: readonly Replacement[] },
): Promise<Drafts> {
  const { tree = false, replace = [] } = options;
  const own = await draftOf(store, await store.record(id), options);
  const above: Draft[] = []; // drafts.1
  let parent = await parentOf(store, own);
  for (let child = own; parent?.draft !== undefined; parent = await parentOf(store, child)) {
    if (!tree) throw informed(child.record, parent.draft.record);
    child = parent.draft;
    above.unshift(child);
  }
  const chain = [...above, own];
  const unawareParent = parent?.unaware ?? null;
  if (!tree) return { all: chain, own, unawareParent };
  return { all: await treeOf(store, chain, { own, replace }), own, unawareParent };
}

/** Adds the children that go on too (drafts.2). `chain`: the instances that must go on, each parent before its child. */
async function treeOf(
  store: Store,
  chain: readonly Draft[],
  { own, replace }: { readonly own: Draft; readonly replace: readonly Replacement[] },
): Promise<readonly Draft[]> {
  const all = [...chain];
  for (const parent of all) {
    const children = await endedChildren(store, parent, parent === own ? replace : []);
    const isKnown = ({ key }: InstanceRecord) => chain.some(({ record }) => record.key === key);
    const others = children.filter((child) => !isKnown(child));
    if (all.length + others.length > TREE_MAX) throw tooMany(chain[0] ?? own);
    for (const child of others) {
      const draft = await draftOf(store, child, { to: "failure" });
      if (canGoOn(draft)) all.push(draft);
    }
  }
  return all;
}

/** The draft of one instance. */
async function draftOf(store: Store, record: InstanceRecord, point: RewindPoint): Promise<Draft> {
  const { id, status, blocked } = record;
  if (!isTerminalStatus(status) && blocked === null) {
    const message = `Instance "${id}" has neither ended nor is it blocked; cancel or terminate it first.`;
    throw new PerdureError("INSTANCE_RUNNING", message);
  }
  const { rows, events } = await readPast(store, record);
  const open = (failure: Parameters<typeof openFailure>[0]) => openFailure(failure, store.codec);
  const before =
    "to" in point
      ? failureCut(events, isTerminalStatus(status) ? null : blockOf(record), open)
      : cutBefore(events, point.before);
  return { record, rows, events, before };
}

function blockOf({ blocked }: InstanceRecord): BlockReason {
  return JSON.parse(blocked ?? "null") as BlockReason; // a runtime wrote it
}

/** The history of an execution. Default: the newest. */
export async function readPast(
  store: Store,
  record: InstanceRecord,
  execution = record.execution,
): Promise<Pick<Draft, "rows" | "events">> {
  const { key } = record;
  const rows = await store.read((provider) => provider.readHistory({ key, execution }));
  if (!covers(rows, WHOLE, 0)) throw incompleteHistory(record.id, execution);
  store.verifyRows(record, execution, rows);
  return { rows, events: decodeHistory(rows) };
}

/** What a parent knows of the end of its child. */
type Informed =
  | { readonly draft: Draft; readonly unaware?: undefined }
  /** The execution that does not wait for the end. */
  | { readonly unaware: number; readonly draft?: undefined };

/** Null: no parent, or one that waits for the end of its child and has not received it. */
async function parentOf(store: Store, { record }: Draft): Promise<Informed | null> {
  const { parent: link } = record;
  const parent = link === null ? null : await store.read((p) => p.readInstance(link.id));
  if (link === null || parent?.runId !== link.runId) return null;
  const { rows, events } = await readPast(store, parent);
  if (!isCurrent(parent, events, link)) return { unaware: parent.execution };
  const received = events.find((event) => isEndOf(event, link));
  const hasEnded = isTerminalStatus(parent.status);
  if (received === undefined && !hasEnded) return null;
  if (received === undefined) {
    const call = events[link.sequence - 1];
    const isAbandoned = call?.kind === "ChildScheduled" && call.onParentClose === "abandon";
    if (isAbandoned) return { unaware: parent.execution };
    throw new PerdureError(
      "PARENT_INFORMED",
      `Instance "${record.id}" cannot be rewound: its parent "${parent.id}" has ended and does not wait for it. Rewind the parent.`,
    );
  }
  if (!hasEnded && parent.blocked === null) {
    const message = `Instance "${record.id}" cannot be rewound: its parent "${parent.id}" has received its end and is running.`;
    throw new PerdureError("PARENT_INFORMED", message);
  }
  return { draft: { record: parent, rows, events, before: received.sequence } };
}

/** Whether the call is part of the newest execution of the parent. */
function isCurrent(
  { execution, copiedUntil }: InstanceRecord,
  [started]: readonly HistoryEvent[],
  link: ParentLink,
): boolean {
  if (link.execution === execution) return true;
  if (started?.kind !== "OrchestrationStarted" || link.sequence > copiedUntil) return false;
  return link.execution >= madeIn({ started, execution }, link.sequence);
}

function isEndOf(event: HistoryEvent, { sequence }: ParentLink): boolean {
  const isEnd = event.kind === "ChildFailed" || event.kind === "ChildCompleted";
  return isEnd && event.scheduled === sequence;
}

/** drafts.2, in the order of their calls. `replace`: outcomes that the operator set. A child with such an outcome stays as it is. */
async function endedChildren(
  store: Store,
  parent: Draft,
  replace: readonly Replacement[],
): Promise<readonly InstanceRecord[]> {
  const { events } = replaceOutcomes(parent.events, replace, parent.before, (value) =>
    store.codec.encode(value),
  );
  const found: InstanceRecord[] = [];
  for (const call of openChildren(pastBefore(events, parent.before))) {
    const child = await childOf(store, parent, call);
    if (child === null || !isTerminalStatus(child.status)) continue;
    if (child.status !== "completed") found.push(child);
  }
  return found;
}

/** drafts.3 */
function canGoOn({ events, before }: Draft): boolean {
  return hasPast(events) && closedCallback(pastBefore(events, before)) === null;
}

/** The child of a call; null: it was deleted, or the id belongs to another instance. */
export async function childOf(
  store: Store,
  { record, events }: Draft,
  call: ChildScheduled & { readonly sequence: number },
): Promise<InstanceRecord | null> {
  const id = childId(record, events, call);
  const child = await store.read((provider) => provider.readInstance(id));
  const link = child?.parent;
  const isOwn =
    link?.id === record.id && link.runId === record.runId && link.sequence === call.sequence;
  return isOwn ? (child ?? null) : null;
}

/** A child that was started again after a copy has another id than the event says (childOfFork). */
export function childId(
  { id: parent, execution, copiedUntil }: InstanceRecord,
  events: readonly HistoryEvent[],
  { id, sequence }: Pick<ChildScheduled, "id"> & { readonly sequence: number },
): string {
  const [first] = events;
  const started = first?.kind === "OrchestrationStarted" ? first : undefined;
  const isKept = started?.rewound?.kept?.includes(sequence) ?? false;
  if (sequence > copiedUntil || isKept) return id;
  const hasOutcome = events.some(
    (event) =>
      "scheduled" in event && event.scheduled === sequence && event.sequence <= copiedUntil,
  );
  return hasOutcome ? id : childInstanceId({ parent, execution, sequence });
}

function tooMany({ record: { id } }: Draft): PerdureError {
  const message = `With { tree: true }, more than ${TREE_MAX} instances would be rewound. Rewind "${id}" without tree: it starts its failed and cancelled children again.`;
  return new PerdureError("LIMIT_EXCEEDED", message);
}

function informed(child: InstanceRecord, parent: InstanceRecord): PerdureError {
  const message = `Instance "${child.id}" cannot be rewound alone: its parent "${parent.id}" has received its end. Rewind both with { tree: true }.`;
  return new PerdureError("PARENT_INFORMED", message);
}
