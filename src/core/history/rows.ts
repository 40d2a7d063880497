// History rows: the events of one commit as one text.
//   - rows.1: A row is `{"v":version,"at":time,"e":[body,…]}`. The sequence number of an event is the first
//       number of the row, which the key of the row contains, plus the index of the event. A codec with a key
//       adds a seal (seal.ts).
//   - A row may have a checkpoint after the time: `"c":{…}` (checkpoint.ts).
//   - rows.3: The head also names the release of Perdure that wrote the events: `"r":"1.2.3"`. Rows from before it have
//       none. A copied row keeps the release of its source. Replay ignores it.
//   - rows.2: Decoding is strict: a text that is not a row, an unknown kind, a gap or a wrong checksum is
//       HISTORY_CORRUPT, never a guess.

import type { MaybeDamaged } from "../values/checksum.ts";
import { isLong, textOfText } from "../values/json-text.ts";
import { isCheckpoint, type Checkpoint } from "./checkpoint.ts";
import { PerdureError } from "../errors/errors.ts";
import { isKnownKind, type EventBody, type HistoryEvent } from "./events.ts";
import { RELEASE } from "./release.ts";
import { REPLAY_VERSION } from "./replay-version.ts";

export interface HistoryRow extends MaybeDamaged {
  readonly first: number;
  readonly last: number;
  readonly data: string;
}

/** `release`: of the source of a copied row; null: the source names none (rows.3). */
export function encodeRow(
  at: number,
  e: readonly EventBody[],
  c: Checkpoint | null = null,
  release: string | null = RELEASE,
): string {
  const v = REPLAY_VERSION;
  if (e.some(hasLongOutput)) {
    const checkpoint = c === null ? "" : `"c":${JSON.stringify(c)},`;
    const r = release === null ? "" : `"r":${JSON.stringify(release)},`;
    let bodies = "";
    for (const body of e) bodies += (bodies === "" ? "" : ",") + bodyText(body);
    return `{"v":${v},"at":${at},${checkpoint}${r}"e":[${bodies}]}`;
  }
  const r = release ?? undefined;
  return JSON.stringify(c === null ? { v, at, r, e } : { v, at, c, r, e }); // one text, without a copy of the bodies
}

function hasLongOutput(body: EventBody): boolean {
  return "output" in body && isLong(body.output);
}

/**
 * The same text as JSON.stringify, faster if the body contains a long text (json-text.1). Concatenation copies
 * that text once, when the store reads the row; `join` would copy it here too.
 */
function bodyText(body: EventBody): string {
  if (!hasLongOutput(body)) return JSON.stringify(body);
  let members = "";
  for (const [key, value] of Object.entries(body)) {
    const text = typeof value === "string" ? textOfText(value) : JSON.stringify(value);
    if (text !== undefined) members += `${members === "" ? "" : ","}"${key}":${text}`;
  }
  return `{${members}}`;
}

/** A row of bodies that are already encoded. Stores use it for rows that they compose themselves. */
export function composeRow(at: number, bodies: readonly string[]): string {
  return `{"v":${REPLAY_VERSION},"at":${at},"r":${RELEASE_TEXT},"e":[${bodies.join(",")}]}`;
}

const RELEASE_TEXT = JSON.stringify(RELEASE);

export function decodeRow(row: HistoryRow): HistoryEvent[] {
  const parsed = parseRow(row);
  const events: HistoryEvent[] = [];
  const { at, version, release } = parsed;
  for (const [index, body] of parsed.bodies.entries()) {
    const sequence = row.first + index;
    if (release === undefined) events.push({ ...body, sequence, at, version });
    else events.push({ ...body, sequence, at, version, release });
  }
  return events;
}

/** The event without what its row says about it. */
export function bodyOf<Event extends HistoryEvent>(event: Event): BodyOf<Event> {
  const { sequence: _s, at: _a, version: _v, release: _r, ...body } = event;
  return body as BodyOf<Event>; // a rest of a generic type is not distributed over a union
}
type BodyOf<Event> = Event extends HistoryEvent
  ? Omit<Event, "sequence" | "at" | "version" | "release">
  : never;

const HAS_CHECKPOINT = /^\{"v":\d+,"at":[\d.]+,"c":/;

/** Null: the row has no checkpoint. Does not parse the row then. */
export function checkpointOf(row: HistoryRow): Checkpoint | null {
  if (!HAS_CHECKPOINT.test(row.data)) return null;
  const { checkpoint } = parseRow(row);
  if (!isCheckpoint(checkpoint, row.last)) throw corrupt(row, "its checkpoint is not valid");
  return checkpoint;
}

/**
 * The events of all rows of an execution, in order. Throws if an event is missing, or if `last` is not the
 * last one.
 */
export function decodeHistory(rows: readonly HistoryRow[], last?: number): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  let next = 1;
  for (const row of rows) {
    if (row.first !== next) {
      const gap = `the previous row ends at event ${next - 1}`;
      throw corrupt(row, next === 1 ? "earlier events are missing" : gap);
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
  readonly release: string | undefined;
  readonly bodies: readonly EventBody[];
  /** Not checked. */
  readonly checkpoint: unknown;
}

function parseRow(row: HistoryRow): ParsedRow {
  if (row.damaged === true) throw corrupt(row, "its checksum does not match its contents");
  let parsed: unknown;
  try {
    parsed = JSON.parse(row.data);
  } catch (cause) {
    throw corrupt(row, "its text is not JSON", cause);
  }
  if (typeof parsed !== "object" || parsed === null) throw corrupt(row, "its text is not a row");
  const { v, at, c, r, e } = parsed as Readonly<Record<string, unknown>>;
  if (typeof v !== "number" || typeof at !== "number" || !Array.isArray(e)) {
    throw corrupt(row, "its text is not a row");
  }
  if (r !== undefined && typeof r !== "string") throw corrupt(row, "its release is not a text");
  if (v > REPLAY_VERSION) {
    const supported = `this code supports versions up to ${REPLAY_VERSION}`;
    throw corrupt(row, `it was written under replay version ${v}; ${supported}`);
  }
  if (e.length !== row.last - row.first + 1) throw corrupt(row, `it contains ${e.length} events`);
  const bodies: EventBody[] = [];
  for (const body of e as readonly unknown[]) {
    if (!isEventBody(body)) throw corrupt(row, `it contains an unknown event ${preview(body)}`);
    bodies.push(body);
  }
  return { version: v, at, release: r, bodies, checkpoint: c };
}

function isEventBody(body: unknown): body is EventBody {
  if (typeof body !== "object" || body === null || !("kind" in body)) return false;
  return typeof body.kind === "string" && isKnownKind(body.kind);
}

function preview(body: unknown): string {
  return JSON.stringify(body)?.slice(0, 80) ?? String(body);
}

function incomplete(found: number, last: number): PerdureError {
  const message = `The history must end at event ${last}; its rows end at event ${found}.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}

export function corrupt(row: HistoryRow, why: string, cause?: unknown): PerdureError {
  const message = `History row ${row.first}–${row.last} cannot be read: ${why}.`;
  return new PerdureError("HISTORY_CORRUPT", message, cause === undefined ? undefined : { cause });
}
