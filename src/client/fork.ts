// Forking: a new instance with the past of another, up to a point (semantics 21a).
//   FO1. The source may be live and is not touched; its inbox is not copied.
//   FO2. The copy has no parent, a run id of its own and the source's seed.

import type { RowSeal } from "../core/codec.ts";
import { PerdureError } from "../core/errors.ts";
import type { EventBody, HistoryEvent, StoredKeyValue } from "../core/history-events.ts";
import { decodeRow, encodeRow, type HistoryRow } from "../core/history-row.ts";
import { sealRow } from "../core/history-seal.ts";
import { RunState } from "../core/run-state.ts";
import type { ForkItem, InstanceRecord } from "../core/provider/index.ts";

/** Of the copy. */
const EXECUTION = 1;

export interface ForkTarget {
  readonly id: string;
  readonly runId: string;
  readonly beforeSequence: number;
  /** Of the codec: copied rows are bound to the copy. */
  readonly seal: RowSeal | undefined;
}

export function forkItem(
  source: InstanceRecord,
  rows: readonly HistoryRow[],
  target: ForkTarget,
): ForkItem {
  const { beforeSequence } = target;
  const last = rows.at(-1)?.last ?? 0;
  if (!Number.isSafeInteger(beforeSequence) || beforeSequence < 2 || beforeSequence > last + 1) {
    const message = `beforeSequence is from 2 to ${last + 1} for this history, not ${beforeSequence}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  const copied: HistoryRow[] = [];
  const state = new RunState();
  for (const row of rows) {
    const events = decodeRow(row).filter((event) => event.sequence < beforeSequence);
    const first = events[0];
    if (first === undefined) break;
    for (const event of events) applyState(state, event);
    const bodies = events.map((event) => copyOf(event, target.runId));
    const to = row.first + bodies.length - 1;
    const copy = { first: row.first, last: to, data: encodeRow(first.at, bodies) };
    copied.push(sealRow(copy, { ...target, execution: EXECUTION }, target.seal));
  }
  const end = copied.at(-1);
  if (end !== undefined && rows.some((row) => row.last <= end.last && endsExecution(row))) {
    const message = "beforeSequence is behind the event that ended the execution.";
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
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

function endsExecution(row: HistoryRow): boolean {
  const kind = decodeRow(row).at(-1)?.kind;
  return kind === "OrchestrationCompleted" || kind === "OrchestrationFailed";
}

function copyOf(event: HistoryEvent, runId: string): EventBody {
  const { sequence: _sequence, at: _at, version: _version, ...body } = event;
  if (body.kind !== "OrchestrationStarted") return body;
  const { parent: _parent, ...started } = body;
  return { ...started, runId };
}

function applyState(state: RunState, event: HistoryEvent): void {
  if (event.kind === "OrchestrationStarted") state.begin(event);
  else if (event.kind === "StatusSet") state.status = event.status;
  else if (event.kind === "KeyValueSet") state.set(event.key, event.value, event.at);
  else if (event.kind === "AttributesSet") state.merge(event.attributes);
  else if (event.kind === "KeyValueCleared") {
    if (event.key === undefined) state.clear();
    else state.delete(event.key);
  }
}
