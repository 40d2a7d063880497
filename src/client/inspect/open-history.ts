// What is open in the newest execution of an instance, read from the end of its history.
//   - open-history.1: Reads the rows from the newest checkpoint to the last event, and the rows with the
//        events that the checkpoint lists (core/history/checkpoint.ts). The cost depends on what is open,
//        not on the length of the history. Without a checkpoint it reads the whole history.
//        A checkpoint that was read once stays right (checkpoint.1), so turns between the reads do no harm.
//   - The result shows the moment of the record (describe.1): later events are left out.

import type { Checkpoint } from "../../core/history/checkpoint.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { openCalls, projectFrom, type Call } from "../../core/history/projection.ts";
import { checkpointOf, type HistoryRow } from "../../core/history/rows.ts";
import type { InstanceRecord } from "../../core/provider/index.ts";
import type { Store } from "../store.ts";
import { incompleteHistory } from "./history-part.ts";
import { eventsOf, HistoryReader } from "./history-reader.ts";

/** The first read; each further read goes back GROWTH times as far. */
const EVENTS_FIRST = 256;
const GROWTH = 8;
/** Events that are at most this far apart are read together with the events between them. */
const APART_MAX = 16;

export interface OpenHistory {
  /** In the order in which they were scheduled. */
  readonly calls: readonly Call[];
  /** The event of the cancel request, if the instance has received one, and the calls that were open at it. */
  readonly cancel?: { readonly request: HistoryEvent; readonly interrupted: readonly Call[] };
  /** The last event of the execution so far. */
  readonly last?: HistoryEvent | undefined;
  /** Why the history cannot be read (semantics 6). */
  readonly why?: string;
}

const NOTHING: OpenHistory = { calls: [] };
const NO_CHECKPOINT: Checkpoint = { events: [], unread: [] };

/** `until`: deadline for retries if the store is unavailable. */
export async function readOpen(
  store: Store,
  record: InstanceRecord,
  until = Infinity,
): Promise<OpenHistory> {
  if (record.lastEvent === 0) return NOTHING;
  const reader = new HistoryReader(store, record, record.execution, until);
  try {
    const found = await openAt(reader);
    const whole = found === null ? null : await withInterrupted(store, record, found, until);
    if (whole !== null) return whole;
    if (await reader.isGone()) return NOTHING;
    throw incompleteHistory(record.id, record.execution);
  } catch (error) {
    if (!isPerdureError(error, "HISTORY_CORRUPT") && !isPerdureError(error, "KEY_MISSING"))
      throw error;
    return { calls: [], why: error.message };
  }
}

/** What is open at the end of the rows. `request`: the cancel request among them. */
interface OpenRows {
  readonly calls: readonly Call[];
  readonly request: HistoryEvent | undefined;
  readonly last: HistoryEvent | undefined;
}

/** Null: rows are missing. */
async function withInterrupted(
  store: Store,
  record: InstanceRecord,
  { calls, request, last }: OpenRows,
  until: number,
): Promise<OpenHistory | null> {
  if (request === undefined) return { calls, last };
  // The same read, at the moment before the request (open-history.1).
  const before = { ...record, lastEvent: request.sequence - 1 };
  const found = await openAt(new HistoryReader(store, before, record.execution, until));
  return found && { calls, last, cancel: { request, interrupted: found.calls } };
}

/** Null: rows are missing. */
async function openAt(reader: HistoryReader): Promise<OpenRows | null> {
  const tail = await tailOf(reader);
  if (tail === null) return null;
  const { rows, checkpoint = NO_CHECKPOINT, checkpointAt } = tail;
  const earlier = await rowsWith(
    reader,
    checkpoint.events.filter((sequence) => sequence < (rows[0]?.first ?? 1)),
  );
  if (earlier === null) return null;
  if (!(await reader.verify([...earlier, ...rows]))) return null;
  const events = eventsOf([...earlier, ...rows], { after: 0, limit: reader.lastEvent });
  const listed = new Set(checkpoint.events);
  const kept = events.filter(({ sequence }) => listed.has(sequence));
  if (kept.length !== listed.size) return null;
  const later = events.filter(({ sequence }) => sequence > checkpointAt);
  const isCancel = ({ kind }: HistoryEvent): boolean => kind === "OrchestrationCancelRequested";
  return {
    calls: openCalls(projectFrom(checkpoint, kept, later)),
    request: kept.find(isCancel) ?? later.find(isCancel),
    last: events.at(-1),
  };
}

interface Tail {
  /** The row with the checkpoint and all later rows, or all rows. */
  readonly rows: readonly HistoryRow[];
  readonly checkpoint?: Checkpoint;
  /** The last event of the row with the checkpoint, or 0. */
  readonly checkpointAt: number;
}

/** Null: rows are missing. */
async function tailOf(reader: HistoryReader): Promise<Tail | null> {
  let rows: readonly HistoryRow[] = [];
  let end = reader.lastEvent;
  for (let events = EVENTS_FIRST; ; events *= GROWTH) {
    const after = Math.max(0, end - events);
    const part = await reader.rows({ after, limit: end - after });
    if (part === null || part.length === 0) return null;
    rows = [...part, ...rows];
    for (let index = part.length - 1; index >= 0; index--) {
      const row = part[index];
      if (row === undefined || row.last > reader.lastEvent) continue;
      const checkpoint = checkpointOf(row);
      if (checkpoint === null) continue;
      return { rows: rows.slice(index), checkpoint, checkpointAt: row.last };
    }
    end = (rows[0]?.first ?? 1) - 1;
    if (end <= 0) return { rows, checkpointAt: 0 };
  }
}

/** The rows that contain these events, in order. Null: rows are missing. */
async function rowsWith(
  reader: HistoryReader,
  sequences: readonly number[],
): Promise<readonly HistoryRow[] | null> {
  const rows: HistoryRow[] = [];
  for (let i = 0; i < sequences.length;) {
    const after = (sequences[i] ?? 1) - 1;
    let end = after + 1;
    for (; i < sequences.length && (sequences[i] ?? 0) - end <= APART_MAX; i++) {
      end = sequences[i] ?? end;
    }
    const known = rows.at(-1)?.last ?? 0;
    if (end <= known) continue;
    const from = Math.max(after, known);
    const part = await reader.rows({ after: from, limit: end - from });
    if (part === null) return null;
    rows.push(...part);
  }
  return rows;
}
