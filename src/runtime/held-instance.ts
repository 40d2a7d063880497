// A held instance: one whose lease is ours, with its live run when it has one.
//   HI1. `idle` → `turning` (its code runs) → `committing` → `idle`; one turn and one commit at a time (I13).
//   HI2. What arrives while it is busy waits here: due messages and outcomes of our own activities and steps.
//   HI3. Without a live run it has the rows to make one from.

import type { BlockReason } from "../core/block.ts";
import type { Orchestration } from "../core/definitions.ts";
import type { DeliveryBody } from "../core/history-events.ts";
import { inOrder } from "../core/inbox-delivery.ts";
import type { HistoryRow } from "../core/history-row.ts";
import type { LoggedInstance } from "../core/log-fields.ts";
import type { LeasedInstance } from "../core/provider/instances.ts";
import type { Message } from "../core/provider/messages.ts";
import type { TaskClaim } from "../core/provider/tasks.ts";
import type { Run } from "../core/run.ts";

/** An outcome that needs no inbox, because the instance is held where the work was done. */
export interface LocalOutcome {
  /** The task whose row goes with the turn; null for a step. */
  readonly task: TaskClaim | null;
  readonly body: DeliveryBody;
}

export interface HeldInstance {
  readonly key: number;
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  readonly definition: Orchestration<never, unknown>;
  readonly priority: number;
  readonly token: number;
  /** Events up to this one were copied by a fork; 0: none. */
  copiedUntil: number;
  execution: number;
  lastEvent: number;
  /** Null until the first turn of an execution that named no version is committed. */
  version: string | null;
  run: Run | null;
  rows: readonly HistoryRow[];
  /** Bytes of the execution's committed rows. */
  bytes: number;
  state: "idle" | "turning" | "committing";
  messages: Message[];
  outcomes: LocalOutcome[];
  /** Messages came due while its commit was under way, perhaps too late for its answer: somebody must look. */
  called?: boolean;
  /** A replay of what was committed gave something else: it blocks the instance when its turn is over. */
  difference?: BlockReason;
  /** The commit count of this runtime after its last commit: what was read before is stale. */
  stamp: number;
  /** When something last happened to it, by the monotonic clock. */
  usedAt: number;
  /** Whether it was leased alone, as a suspect, and has not been cleared since. */
  suspect: boolean;
  /** The last event of its execution when it was leased; 0 for an execution that began since. */
  leasedAt: number;
}

/** The instance as log lines name it. */
export function loggedInstance({ id, execution, name, definition }: HeldInstance): LoggedInstance {
  return { id, execution, name, version: definition.version };
}

export function holdInstance(
  leased: LeasedInstance,
  definition: Orchestration<never, unknown>,
  now: number,
): HeldInstance {
  const { key, id, runId, name, version, execution, token, lastEvent, priority } = leased;
  return {
    key,
    id,
    runId,
    name,
    definition,
    priority,
    token,
    copiedUntil: leased.copiedUntil,
    execution,
    lastEvent,
    version,
    run: null,
    rows: leased.history,
    bytes: leased.history.reduce((sum, row) => sum + row.data.length, 0),
    state: "idle",
    messages: inOrder(leased.messages),
    outcomes: [],
    stamp: 0,
    usedAt: now,
    suspect: leased.suspicion > 0,
    leasedAt: lastEvent,
  };
}
