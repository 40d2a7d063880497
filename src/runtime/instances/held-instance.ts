// A held instance: an instance whose lease this runtime holds, with its live run if there is one.
//   - One turn and one commit at a time (I13). While the instance is busy, new due messages and outcomes
//     of local activities and steps wait here.
//
//   | state      | meaning                                                                        |
//   | ---------- | ------------------------------------------------------------------------------ |
//   | cold       | not busy, without a live run; `rows` has the history to build one from         |
//   | idle       | not busy, with a live run                                                      |
//   | turning    | busy: its code runs, or its run is being built                                 |
//   | committing | busy: its turn is submitted and the result has not arrived                     |
//   | released   | not held anymore (held-instances.ts); a late result finds it in this state     |
//
//   | event    | from                            | to         | when                                   |
//   | -------- | ------------------------------- | ---------- | -------------------------------------- |
//   | begin    | cold, idle                      | turning    | it is cold, or has something to deliver |
//   | rest     | turning                         | idle       | the turn has nothing to write          |
//   | submit   | turning                         | committing | the turn has something to write        |
//   | commit   | committing                      | idle       | the commit returned; the lease is kept |
//   | continue | committing                      | cold       | the same, and a new execution begins   |
//   | release  | cold, idle, turning, committing | released   | see `ReleaseReason` for the reasons    |
//
//   held-instance.test.ts compares both tables with the code.

import type { BlockReason } from "../../core/history/block.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import type { DeliveryBody } from "../../core/history/events.ts";
import { inInboxOrder } from "../../core/replay/inbox-delivery.ts";
import type { HistoryRow } from "../../core/history/rows.ts";
import type { LoggedInstance } from "../../core/telemetry/log-fields.ts";
import type { LeasedInstance } from "../../core/provider/instances.ts";
import type { Message } from "../../core/provider/messages.ts";
import type { TaskClaim } from "../../core/provider/tasks.ts";
import type { Run } from "../../core/replay/run.ts";

/**
 * An outcome that skips the inbox, because this runtime holds the instance and ran the activity or step.
 */
export interface LocalOutcome {
  /** The task whose row the turn deletes; null for a step. */
  readonly task: TaskClaim | null;
  readonly body: DeliveryBody;
}

export type HeldState = "cold" | "idle" | "turning" | "committing" | "released";
export type HeldEvent = "begin" | "rest" | "submit" | "commit" | "continue" | "release";

/** For each event, the state that follows each state in which the event is legal. */
export const TRANSITIONS: Readonly<
  Record<HeldEvent, Readonly<Partial<Record<HeldState, HeldState>>>>
> = {
  begin: { cold: "turning", idle: "turning" },
  rest: { turning: "idle" },
  submit: { turning: "committing" },
  commit: { committing: "idle" },
  continue: { committing: "cold" },
  release: { cold: "released", idle: "released", turning: "released", committing: "released" },
};

/** The only place that changes the state. `HeldInstances.transition` also counts busy instances. */
export function transition(held: HeldInstance, event: HeldEvent): void {
  const next = TRANSITIONS[event][held.state];
  if (next === undefined) throw new Error(`${held.id}: ${event} is not legal while ${held.state}`);
  held.state = next;
}

/** Whether a turn or a commit of the instance is in flight. */
export function isBusy({ state }: HeldInstance): boolean {
  return state === "turning" || state === "committing";
}

/** Whether the instance is held and waits for something to deliver. */
export function isIdle({ state }: HeldInstance): boolean {
  return state === "cold" || state === "idle";
}

export interface HeldInstance {
  readonly key: number;
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  definition: Orchestration<never, unknown>;
  readonly priority: number;
  readonly token: number;
  /** The last event that a fork copied into this execution; 0: the execution is not a fork. */
  copiedUntil: number;
  execution: number;
  lastEvent: number;
  /** Null until the first turn is committed, if the start named no version. */
  version: string | null;
  /** Null until the first turn of an execution begins here. */
  run: Run | null;
  /** The history from which the run is built; empty once the run exists. */
  rows: readonly HistoryRow[];
  /** Size of the execution's committed history rows, in bytes. */
  bytes: number;
  /** Changed only by `transition`. */
  state: HeldState;
  messages: Message[];
  outcomes: LocalOutcome[];
  /**
   * Messages came due while a commit was in flight. The commit's reply may miss them, so they must be
   * fetched.
   */
  hasUnseenMessages: boolean;
  /**
   * A shadow replay of the committed history gave a different result. The instance is blocked at the end
   * of its turn.
   */
  shadowMismatch: BlockReason | null;
  /**
   * The commit count of this runtime right after this instance's last commit. Anything read at a lower
   * count is stale.
   */
  commitCount: number;
  /** The id of the last turn that this runtime has committed for the instance; null: none since the lease. */
  lastCommit: number | null;
  /** When the instance was last used, by the monotonic clock. */
  usedAt: number;
  /** Whether it was leased as a suspect and has not been cleared since. */
  suspect: boolean;
  /** The last event of its execution at the time of the lease; 0 for an execution that began later. */
  leasedAt: number;
}

/** The instance as log lines show it. */
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
    state: "cold",
    messages: inInboxOrder(leased.messages),
    outcomes: [],
    hasUnseenMessages: false,
    shadowMismatch: null,
    commitCount: 0,
    lastCommit: null,
    usedAt: now,
    suspect: leased.suspicion > 0,
    leasedAt: lastEvent,
  };
}
