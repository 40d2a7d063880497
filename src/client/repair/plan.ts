// The plan of a rewind: what one instance gets of its past, as the target of a commit item.

import { invalidArgument } from "../../core/checks.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { terminated } from "../../core/errors/built-in-failures.ts";
import type {
  EventBody,
  HistoryEvent,
  KeySource,
  OrchestrationStarted,
  RedoneCall,
  Repair,
  Rewound,
  StoredKeyValue,
} from "../../core/history/events.ts";
import { sameCommand } from "../../core/history/matching.ts";
import { bodyOf, encodeRow, type HistoryRow } from "../../core/history/rows.ts";
import { sealRow } from "../../core/history/seal.ts";
import {
  isTerminalStatus,
  type InstanceRecord,
  type KeptOutcome,
  type RewindTarget,
} from "../../core/provider/index.ts";
import type { CopiedPast } from "../../core/repair/code-check.ts";
import {
  closedCallback,
  isOutcome,
  isRefusedSend,
  openChildren,
  pastBefore,
  pendingOutcome,
  type Past,
} from "../../core/repair/past.ts";
import { previewOf, type PastPreview } from "../../core/repair/preview.ts";
import { replaceOutcomes, type Replacement } from "../../core/repair/replace.ts";
import { cancelRequest } from "../../core/replay/effects.ts";
import { keyExecution } from "../../core/replay/fork.ts";
import { PUBLISHED_KEY } from "../../core/replay/requests/published-state.ts";
import type { Codec } from "../../core/values/codec.ts";
import { defined } from "../../core/values/defined.ts";
import { isCommand } from "../../core/history/events.ts";
import type { Store } from "../store.ts";
import { childId, childOf, type Draft } from "./drafts.ts";

/** The first event of an execution has the records of at most this many repairs. */
export const REPAIRS_MAX = 20;

/** Why a repair is made, and who makes it. */
export interface RepairReason {
  readonly reason: string;
  readonly by: string | undefined;
}

export interface Plan {
  readonly record: InstanceRecord;
  readonly preview: PastPreview;
  /** Without what the code check finds out. */
  readonly target: Omit<RewindTarget, "closedStreams">;
  readonly past: CopiedPast;
}

/** `children`: the drafts of the children that are rewound too. */
export async function planOf(
  store: Store,
  draft: Draft,
  options: {
    readonly why: RepairReason;
    readonly replace: readonly Replacement[];
    readonly children: readonly Draft[];
    readonly withParent: boolean;
    readonly unawareParent: number | null;
  },
): Promise<Plan> {
  const { record, rows, before } = draft;
  const { why, children } = options;
  const encode = (value: unknown): string => store.codec.encode(value);
  const replaced = replaceOutcomes(draft.events, options.replace, before, encode);
  const past = pastBefore(replaced.events, before);
  checkCallbacks(past);
  const together = children.flatMap(({ record: child }) => child.parent?.sequence ?? []);
  const hasEnded = isTerminalStatus(record.status);
  const inbox = hasEnded ? NO_INBOX : await pendingOutcomes(store, record, past);
  const found = await childrenOf(store, draft, past, [
    ...together,
    ...inbox.outcomes.map(({ sequence }) => sequence),
  ]);
  const dropped = [...together, ...inbox.refused];
  const outcomes = [...past.outcomes, ...inbox.outcomes].filter(
    ({ sequence }) => !dropped.includes(sequence),
  );
  const kept = [...outcomes, ...found.outcomes].map(({ sequence }) => sequence);
  const waiting = [...kept, ...together, ...found.live.map(({ sequence }) => sequence)];
  const repair: Repair = {
    ...{ kind: "rewind", at: store.provider.now(), reason: why.reason, ...defined({ by: why.by }) },
    ...{ execution: record.execution, before },
    ...(replaced.calls.length === 0 ? {} : { replaced: replaced.calls }),
  };
  const rewound = rewoundOf(draft, waiting, store.codec);
  const repairs = [...(past.started.repairs ?? []), repair].slice(-REPAIRS_MAX);
  const started: OrchestrationStarted = { ...bodyOf(startOf(past)), rewound, repairs };
  const next = { id: record.id, runId: record.runId, execution: record.execution + 1 };
  const copied = copyRows(rows, past, (event) => copyOf(event, draft, started)).map((row) =>
    sealRow(row, next, store.codec.rowSeal),
  );
  return {
    record,
    preview: previewOf(past, waiting),
    past: { ...next, priority: record.priority, rows: copied },
    target: {
      ...{ id: record.id, runId: record.runId, execution: record.execution },
      lastEvent: record.lastEvent,
      terminated: hasEnded ? null : JSON.stringify(terminated(`rewound: ${why.reason}`)),
      rows: copied,
      keyValues: keyValuesOf(past),
      status: past.state.status,
      attributes: past.state.attributes,
      cancelRequested: cancelIn(past),
      events: past.events,
      outcomes: [...outcomes, ...found.outcomes],
      lastOutcome: inbox.last,
      liveChildren: found.live.map(({ id }) => id),
      cancelledChildren: hasEnded ? [] : droppedChildren(draft, past),
      childRequest: JSON.stringify(cancelRequest(`rewound: ${why.reason}`, "parent")),
      withParent: options.withParent,
      unawareParent: options.unawareParent,
    },
  };
}

type CopiedEvent = Past["copied"][number];

function startOf({ copied }: Past): OrchestrationStarted & CopiedEvent {
  const [first] = copied;
  if (first?.kind !== "OrchestrationStarted") throw new Error("pastBefore checked the start.");
  return first;
}

function checkCallbacks(past: Past): void {
  const closed = closedCallback(past);
  if (closed === null) return;
  const { name, sequence } = closed;
  const what = `Before event ${past.before}, the code waits for the callback "${name}" (event ${sequence})`;
  throw invalidArgument(`${what}, whose address is closed. Choose a point before that event.`);
}

interface PendingOutcomes {
  readonly outcomes: readonly KeptOutcome[];
  /** The messages to other instances that were refused. */
  readonly refused: readonly number[];
  /** The id of the newest outcome in the inbox. */
  readonly last: number;
}
const NO_INBOX: PendingOutcomes = { outcomes: [], refused: [], last: 0 };

/** What completed while the instance was blocked. */
async function pendingOutcomes(
  store: Store,
  { key, execution }: InstanceRecord,
  past: Past,
): Promise<PendingOutcomes> {
  const messages = await store.read((provider) => provider.readInbox(key));
  const own = messages.filter((message) => isOutcome(message.kind));
  const known = new Set(past.outcomes.map(({ sequence }) => sequence));
  const readable = own.filter((each) => each.execution === execution && each.damaged !== true);
  const outcomes = readable.flatMap((message) => {
    const kept = pendingOutcome(message, past.before);
    return kept === null || known.has(kept.sequence) ? [] : [kept];
  });
  const refused = readable.flatMap((each) => (isRefusedSend(each) ? (each.sequence ?? []) : []));
  return { outcomes, refused, last: own.reduce((last, { id }) => Math.max(last, id), 0) };
}

function cancelIn({ copied }: Past): string | null {
  const cancel = copied.find(({ kind }) => kind === "OrchestrationCancelRequested");
  return cancel === undefined ? null : JSON.stringify(bodyOf(cancel));
}

interface FoundChildren {
  /** The outcomes of children that completed after their parent had ended. */
  readonly outcomes: readonly KeptOutcome[];
  readonly live: readonly { readonly id: string; readonly sequence: number }[];
}

/**
 * What became of the children that the copied past waits for, except those of the `settled` calls. Failed children are
 * started again.
 */
async function childrenOf(
  store: Store,
  draft: Draft,
  past: Past,
  settled: readonly number[],
): Promise<FoundChildren> {
  const outcomes: KeptOutcome[] = [];
  const live: { id: string; sequence: number }[] = [];
  for (const call of openChildren(past)) {
    const { sequence } = call;
    const child = settled.includes(sequence) ? null : await childOf(store, draft, call);
    if (child === null) continue;
    if (child.status === "completed") {
      const body: EventBody = {
        ...{ kind: "ChildCompleted", scheduled: sequence, output: child.output ?? "" },
      };
      outcomes.push({ kind: "child", sequence, data: JSON.stringify(body) });
    } else if (!isTerminalStatus(child.status)) {
      if (child.cancelRequested !== null) throw stillEnding(child.id);
      live.push({ id: child.id, sequence });
    }
  }
  return { outcomes, live };
}

function stillEnding(id: string): PerdureError {
  const message = `The child "${id}" is being cancelled; try again when it has ended.`;
  return new PerdureError("INSTANCE_RUNNING", message);
}

/** The children that a blocked instance called after the cut. */
function droppedChildren({ record, events }: Draft, { dropped }: Past): readonly string[] {
  return dropped.flatMap((event) =>
    event.kind === "ChildScheduled" && event.onParentClose !== "abandon"
      ? [childId(record, events, event)]
      : [],
  );
}

function keyValuesOf({ copied, state }: Past): readonly StoredKeyValue[] {
  const answer = copied.findLast((event) => event.kind === "RequestAnswered" && event.state);
  const published: StoredKeyValue[] =
    answer?.kind === "RequestAnswered" && answer.state !== undefined
      ? [[PUBLISHED_KEY, answer.state, answer.at]]
      : [];
  return [...state.entries(), ...published];
}

/** Copies rows up to the cut. The events of a row keep their time. */
export function copyRows(
  rows: readonly HistoryRow[],
  { copied }: Pick<Past, "copied">,
  bodyOfEvent: (event: HistoryEvent) => EventBody,
): readonly HistoryRow[] {
  return rows.flatMap(({ first, last }) => {
    const events = copied.filter(({ sequence }) => sequence >= first && sequence <= last);
    const [head] = events;
    if (head === undefined) return [];
    const data = encodeRow(head.at, events.map(bodyOfEvent), null, head.release ?? null);
    return [{ first, last: first + events.length - 1, data }];
  });
}

function copyOf(
  event: HistoryEvent,
  { record, events }: Draft,
  started: OrchestrationStarted,
): EventBody {
  if (event.kind === "OrchestrationStarted") return started;
  if (event.kind !== "ChildScheduled") return bodyOf(event);
  return { ...bodyOf(event), id: childId(record, events, event) };
}

function rewoundOf(draft: Draft, kept: readonly number[], codec: Codec): Rewound {
  const redone = redoneOf(draft, codec);
  return {
    keys: keysOf(draft, codec),
    ...(kept.length === 0 ? {} : { kept: [...kept].sort((a, b) => a - b) }),
    ...defined({ redone }),
  };
}

/** The owners of the keys before the cut: those of the earlier pasts, then the execution itself. */
function keysOf({ record, events, before }: Draft, codec: Codec): readonly KeySource[] {
  const last = before - 1;
  const [first] = events;
  const earlier = first?.kind === "OrchestrationStarted" ? first.rewound : undefined;
  const sources = [...(earlier?.keys ?? [])];
  const { redone } = earlier ?? {};
  const again = redone === undefined ? undefined : events[redone.sequence - 1];
  if (redone !== undefined && again !== undefined && isSameCall(again, redone, codec)) {
    sources.push({ until: redone.sequence, execution: redone.execution });
  }
  sources.push({ until: last, execution: record.execution });
  const kept: KeySource[] = [];
  for (const { until, execution } of sources) {
    if ((kept.at(-1)?.until ?? 0) >= last) break;
    kept.push({ until: Math.min(until, last), execution });
  }
  return kept;
}

function isSameCall(event: HistoryEvent, { call }: RedoneCall, codec: Codec): boolean {
  return isCommand(event) && sameCommand(call, event, codec);
}

/** The call at the cut, which the code will make again. */
function redoneOf({ record, events, before }: Draft, codec: Codec): RedoneCall | undefined {
  const event = events[before - 1];
  const [started] = events;
  if (started?.kind !== "OrchestrationStarted") return undefined;
  if (event?.kind !== "ActivityScheduled" && event?.kind !== "StepScheduled") return undefined;
  const { sequence } = event;
  const call = bodyOf(event);
  const run = { started, execution: record.execution, codec };
  return { sequence, execution: keyExecution(run, sequence, call), call };
}
