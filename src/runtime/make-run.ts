// A live run from a held instance: its history decoded, its code ready to be driven.

import type { Codec } from "../core/codec.ts";
import type { GuardName } from "../core/guard-names.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { decodeHistory, type HistoryRow } from "../core/history-row.ts";
import { verifyRows } from "../core/history-seal.ts";
import type { Limits } from "../core/limits.ts";
import { orchestrationMain } from "../core/orchestration-main.ts";
import { Run } from "../core/run.ts";
import type { HeldInstance } from "./held-instance.ts";

export interface MakeRunOptions {
  readonly codec: Codec;
  readonly onMisuse?: (run: Run) => void;
  readonly captureSources?: boolean;
  readonly isShadow?: boolean;
  /** Another history than the instance's own rows. */
  readonly rows?: readonly HistoryRow[];
  readonly execution?: number;
  readonly guards?: ReadonlySet<GuardName>;
  readonly limits?: Limits;
  readonly readKeyValue?: (id: string, key: string) => Promise<string | undefined>;
}

/** Throws HISTORY_CORRUPT when the rows cannot be read, are not all there or belong elsewhere; or KEY_MISSING. */
export function makeRun(held: HeldInstance, options: MakeRunOptions): Run {
  const rows = options.rows ?? held.rows;
  const last = options.rows === undefined ? held.lastEvent : undefined;
  const { id, runId } = held;
  const execution = options.execution ?? held.execution;
  verifyRows(rows, { id, runId, execution }, options.codec.rowSeal);
  const history: readonly HistoryEvent[] = decodeHistory(rows, last);
  return new Run({
    instanceId: id,
    execution,
    version: held.definition.version,
    priority: held.priority,
    codec: options.codec,
    main: orchestrationMain(held.definition),
    history,
    rowBytes: bytesBefore(rows),
    ...(options.onMisuse === undefined ? {} : { onMisuse: options.onMisuse }),
    ...(held.copiedUntil === 0 ? {} : { copiedUntil: held.copiedUntil }),
    ...(options.guards === undefined ? {} : { guards: options.guards }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.readKeyValue === undefined ? {} : { readKeyValue: options.readKeyValue }),
    ...(options.captureSources === true ? { captureSources: true } : {}),
    ...(options.isShadow === true ? { isShadow: true } : {}),
  });
}

/** Bytes of the rows before each row's first event. */
export function bytesBefore(rows: readonly HistoryRow[]): (readonly [number, number])[] {
  let bytes = 0;
  return rows.map((row) => {
    const entry = [row.first, bytes] as const;
    bytes += row.data.length;
    return entry;
  });
}
