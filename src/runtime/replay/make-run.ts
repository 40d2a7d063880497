// Builds a live run from a held instance: decodes its history and prepares its code.

import type { Codec } from "../../core/values/codec.ts";
import type { CallbackSigner } from "../../core/define/callback.ts";
import type { GuardName } from "../../core/define/guard-names.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { decodeHistory, type HistoryRow } from "../../core/history/rows.ts";
import { verifyRows } from "../../core/history/seal.ts";
import type { Limits } from "../../core/values/limits.ts";
import { orchestrationMain } from "../../core/replay/orchestration-main.ts";
import { Run } from "../../core/replay/run.ts";
import type { HeldInstance } from "../instances/held-instance.ts";

/** Options that all runs of a runtime share. */
export interface RunOptions {
  readonly codec: Codec;
  readonly guards?: ReadonlySet<GuardName>;
  readonly limits?: Limits;
  readonly readKeyValue?: (id: string, key: string) => Promise<string | undefined>;
  readonly callbacks?: CallbackSigner;
}

export interface MakeRunOptions extends RunOptions {
  readonly onMisuse?: (run: Run) => void;
  readonly captureSources?: boolean;
  readonly isShadow?: boolean;
  /** A history to use instead of the instance's own rows. */
  readonly rows?: readonly HistoryRow[];
  readonly execution?: number;
}

/**
 * Throws HISTORY_CORRUPT if the rows cannot be decoded, are incomplete or belong to another execution.
 * Throws KEY_MISSING if a key is missing.
 */
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
    inputSchema: held.definition.options.input,
    main: orchestrationMain(held.definition),
    history,
    rowBytes: bytesBefore(rows),
    ...(options.onMisuse === undefined ? {} : { onMisuse: options.onMisuse }),
    ...(held.copiedUntil === 0 ? {} : { copiedUntil: held.copiedUntil }),
    ...(options.guards === undefined ? {} : { guards: options.guards }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.readKeyValue === undefined ? {} : { readKeyValue: options.readKeyValue }),
    ...(options.callbacks === undefined ? {} : { callbacks: options.callbacks }),
    ...(options.captureSources === true ? { captureSources: true } : {}),
    ...(options.isShadow === true ? { isShadow: true } : {}),
  });
}

/** For each row, its first event and the total size of all rows before it. */
export function bytesBefore(rows: readonly HistoryRow[]): (readonly [number, number])[] {
  let bytes = 0;
  return rows.map((row) => {
    const entry = [row.first, bytes] as const;
    bytes += row.data.length;
    return entry;
  });
}
