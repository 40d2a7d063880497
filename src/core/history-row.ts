// History rows: the events of one commit as one text.
//   R1. A row is `{"v":version,"at":time,"e":[body,…]}`; an event's sequence is the row's first plus its
//       place, so that nothing is stored that the key already says. A codec with a key adds a seal (history-seal.ts).
//   R2. Reading is strict: a text that is no row, an unknown kind, a gap or a wrong checksum is HISTORY_CORRUPT, never
//       a guess.

import type { MaybeDamaged } from "./checksum.ts";
import { PerdureError } from "./errors.ts";
import {
  isKnownKind,
  REPLAY_VERSION,
  type EventBody,
  type HistoryEvent,
} from "./history-events.ts";

export interface HistoryRow extends MaybeDamaged {
  readonly first: number;
  readonly last: number;
  readonly data: string;
}

export function encodeRow(at: number, bodies: readonly EventBody[]): string {
  return `{"v":${REPLAY_VERSION},"at":${at},"e":${JSON.stringify(bodies)}}`;
}

/** A row made of texts that are already encoded bodies; used where the store composes a row itself. */
export function composeRow(at: number, bodies: readonly string[]): string {
  return `{"v":${REPLAY_VERSION},"at":${at},"e":[${bodies.join(",")}]}`;
}

export function decodeRow(row: HistoryRow): HistoryEvent[] {
  const parsed = parseRow(row);
  const events: HistoryEvent[] = [];
  for (const [index, body] of parsed.bodies.entries()) {
    events.push({ ...body, sequence: row.first + index, at: parsed.at, version: parsed.version });
  }
  return events;
}

/** All rows of an execution, in order, as one dense list of events from the first on; with `last`, one that ends there. */
export function decodeHistory(rows: readonly HistoryRow[], last?: number): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  let next = 1;
  for (const row of rows) {
    if (row.first !== next) {
      const before = `the row before it ends at event ${next - 1}`;
      throw corrupt(row, next === 1 ? "events before it are missing" : before);
    }
    for (const event of decodeRow(row)) events.push(event);
    next = row.last + 1;
  }
  if (last !== undefined && last !== next - 1) throw incomplete(next - 1, last);
  return events;
}

interface ParsedRow {
  readonly version: number;
  readonly at: number;
  readonly bodies: readonly EventBody[];
}

function parseRow(row: HistoryRow): ParsedRow {
  if (row.damaged === true) throw corrupt(row, "it is not what was written: its checksum differs");
  let parsed: unknown;
  try {
    parsed = JSON.parse(row.data);
  } catch (cause) {
    throw corrupt(row, "its text is not JSON", cause);
  }
  if (typeof parsed !== "object" || parsed === null) throw corrupt(row, "its text is no row");
  const { v, at, e } = parsed as { v?: unknown; at?: unknown; e?: unknown };
  if (typeof v !== "number" || typeof at !== "number" || !Array.isArray(e)) {
    throw corrupt(row, "its text is no row");
  }
  if (v > REPLAY_VERSION) {
    throw corrupt(
      row,
      `it was written under replay version ${v}; this code knows ${REPLAY_VERSION}`,
    );
  }
  if (e.length !== row.last - row.first + 1) {
    throw corrupt(row, `it holds ${e.length} events`);
  }
  const bodies: EventBody[] = [];
  for (const body of e as readonly unknown[]) {
    if (!isEventBody(body)) throw corrupt(row, `it holds an unknown event ${preview(body)}`);
    bodies.push(body);
  }
  return { version: v, at, bodies };
}

function isEventBody(body: unknown): body is EventBody {
  if (typeof body !== "object" || body === null || !("kind" in body)) return false;
  return typeof body.kind === "string" && isKnownKind(body.kind);
}

function preview(body: unknown): string {
  return JSON.stringify(body)?.slice(0, 80) ?? String(body);
}

function incomplete(found: number, last: number): PerdureError {
  const message = `History rows are missing, or too many: the last event is ${last}, and rows end at ${found}.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}

function corrupt(row: HistoryRow, why: string, cause?: unknown): PerdureError {
  const message = `History row ${row.first}–${row.last} cannot be read: ${why}.`;
  return new PerdureError("HISTORY_CORRUPT", message, cause === undefined ? undefined : { cause });
}
