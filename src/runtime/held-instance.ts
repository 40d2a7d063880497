// A held instance: one whose lease is ours, with its live run when it has one.
//   HI1. `idle` → `turning` (its code runs) → `committing` → `idle`; one turn and one commit at a time (I13).
//   HI2. What arrives while it is busy waits here: due messages and outcomes of our own activities and steps.
//   HI3. Without a live run it has the rows to make one from.

import type { Orchestration } from "../core/definitions.ts";
import type { DeliveryBody } from "../core/history-events.ts";
import type { HistoryRow } from "../core/history-row.ts";
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
  /** When something last happened to it, by the monotonic clock. */
  usedAt: number;
  /** Whether it was leased alone, as a suspect. */
  suspect: boolean;
}
