// Fork: creates a new instance with a copy of another instance's history up to a given event (semantics 21a).
//   - The source instance may be running and does not change. Its inbox is not copied.
//   - The copy has no parent, a new run id and the source's seed.
//   - Its callbacks have new addresses: those of the source complete the source. What the source passed on before, such
//        as the inputs of its activities, is copied as it is.

import type { RowSeal } from "../core/values/codec.ts";
import { PerdureError } from "../core/errors/errors.ts";
import {
  isTerminal,
  type CallbackCreated,
  type EventBody,
  type HistoryEvent,
  type StoredKeyValue,
} from "../core/history/events.ts";
import { decodeRow, encodeRow, type HistoryRow } from "../core/history/rows.ts";
import { sealRow } from "../core/history/seal.ts";
import { projectHistory } from "../core/history/projection.ts";
import type { ForkItem, InstanceRecord } from "../core/provider/index.ts";

/** The execution number of the copy. */
const EXECUTION = 1;

export interface ForkTarget {
  readonly id: string;
  readonly runId: string;
  readonly beforeSequence: number;
  /**
   * The codec's seal, with which every copied row is bound to the new instance. Undefined: rows are not
   * sealed.
   */
  readonly seal: RowSeal | undefined;
  /** Codec text of the address of a callback of the fork. */
  readonly addressOf: (created: CallbackCreated & { readonly sequence: number }) => string;
}

export function forkItem(
  source: InstanceRecord,
  rows: readonly HistoryRow[],
  target: ForkTarget,
): ForkItem {
  const { beforeSequence } = target;
  const last = rows.at(-1)?.last ?? 0;
  if (!Number.isSafeInteger(beforeSequence) || beforeSequence < 2 || beforeSequence > last + 1) {
    const message = `beforeSequence must be from 2 to ${last + 1} for this history; got ${beforeSequence}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  checkInputChecked(source, rows);
  const copied: HistoryRow[] = [];
  const copiedEvents: HistoryEvent[] = [];
  for (const row of rows) {
    const events = decodeRow(row).filter((event) => event.sequence < beforeSequence);
    const first = events[0];
    if (first === undefined) break;
    for (const event of events) copiedEvents.push(event);
    const bodies = events.map((event) => copyOf(event, target));
    const to = row.first + bodies.length - 1;
    const copy = { first: row.first, last: to, data: encodeRow(first.at, bodies) };
    copied.push(sealRow(copy, { ...target, execution: EXECUTION }, target.seal));
  }
  const end = copied.at(-1);
  if (end !== undefined && rows.some((row) => row.last <= end.last && endsExecution(row))) {
    const message =
      "beforeSequence must not be after the event that ended the execution: the fork could not run.";
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  const { state } = projectHistory(copiedEvents);
  return {
    kind: "fork",
    instance: {
      id: target.id,
      runId: target.runId,
      name: source.name,
      version: source.version,
      started: "",
      parent: null,
      onParentClose: "cancel",
      priority: source.priority,
      attributes: state.attributes,
    },
    rows: copied,
    keyValues: state.entries() as readonly StoredKeyValue[],
    status: state.status,
  };
}

/**
 * A fork copies the start with its checked input. An execution that ended before its code ran has no checked
 * input.
 */
function checkInputChecked({ id }: InstanceRecord, rows: readonly HistoryRow[]): void {
  const [first, second] = rows.slice(0, 2).flatMap(decodeRow);
  if (first?.kind !== "OrchestrationStarted") return;
  const endedAtOnce = first.unchecked === true && second !== undefined && isTerminal(second);
  if (!endedAtOnce && first.refused === undefined) return;
  const message = `Instance "${id}" ended before its code ran, so there is nothing to fork; restart it or start a new instance.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

function endsExecution(row: HistoryRow): boolean {
  const kind = decodeRow(row).at(-1)?.kind;
  return kind === "OrchestrationCompleted" || kind === "OrchestrationFailed";
}

function copyOf(event: HistoryEvent, { runId, addressOf }: ForkTarget): EventBody {
  const { sequence: _sequence, at: _at, version: _version, ...body } = event;
  if (event.kind === "CallbackCreated" && body.kind === "CallbackCreated") {
    return { ...body, address: addressOf(event) };
  }
  if (body.kind !== "OrchestrationStarted") return body;
  const { parent: _parent, ...started } = body;
  return { ...started, runId };
}
