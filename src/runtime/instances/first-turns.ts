// First turns: runs the first turn of an instance that this process starts, before its start is committed.
// One commit then writes both (commit.5), so a one-activity instance takes two commits instead of three.
//
//   adopt ──▶ run the turn ──▶ write the start with its turn ──┬──▶ due: hold the instance, act on the turn
//                                                             └──▶ else: give the slots back, forget the run
//
//   - Nothing leaves this process before the commit (I13). A start that the store refuses, or writes
//     without its turn, discards the run; the code runs again if the instance is leased here.
//   - first-turns.1: Only code that has committed a turn in this process runs early. If the first turn of
//     an orchestration kills its process, its start must be in the store, so that quarantine can stop it
//     (semantics 9a).
//   - first-turns.2: A start that may meet an existing instance on purpose (`onConflict` other than "fail")
//     does not run early: the code of an existing instance must not run again.

import { ChurningMap } from "../../core/collections/churning-map.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import type { StartItem, StartResult } from "../../core/provider/commit.ts";
import type { LeasedInstance } from "../../core/provider/instances.ts";
import type { RuntimeContext } from "../context.ts";
import { makeRun } from "../replay/make-run.ts";
import { prepareTurn, type PreparedTurn } from "../replay/prepared-turn.ts";
import { TurnJob, type FinishedTurn } from "../replay/turn-job.ts";
import { holdInstance } from "./held-instance.ts";

type Definition = Orchestration<never, unknown>;
/** A start that this runtime leases. */
export type LeasedStart = StartItem & { readonly lease: NonNullable<StartItem["lease"]> };

export class FirstTurns {
  readonly #runtime: RuntimeContext;
  /** first-turns.1 */
  readonly #proven = new WeakSet<Definition>();
  /** Turns whose start is not answered yet, by the token of the start. */
  readonly #prepared = new ChurningMap<number, PreparedTurn>();

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /** A turn of this code was committed. */
  hasRun(definition: Definition): void {
    this.#proven.add(definition);
  }

  /** first-turns.1, first-turns.2 */
  accepts({ onConflict, events }: StartItem, definition: Definition): boolean {
    return onConflict === "fail" && events.length === 0 && this.#proven.has(definition);
  }

  /** Runs the first turn, then calls `write` with the start: with the turn, or alone if the turn cannot be written. */
  run(start: LeasedStart, definition: Definition, write: (item: StartItem) => void): void {
    const { runOptions, instances, pump, stats, storeNow: now, options } = this.#runtime;
    const held = holdInstance(leasedFrom(start, 0), definition, this.#runtime.monotonic());
    const run = makeRun(held, { ...runOptions, onMisuse: instances.onMisuse });
    stats.turns++;
    const finish = (turn: FinishedTurn): void => {
      const prepared = this.#prepare(turn);
      write(prepared === null ? start : this.#withTurn(start, prepared));
    };
    pump.add(new TurnJob({ held, run, now, finish, poison: options.poison }));
  }

  /** Null: the turn failed inside the engine or is blocked. It runs again after its start, and is handled there. */
  #prepare(turn: FinishedTurn): PreparedTurn | null {
    if (turn.bug !== undefined || turn.run.blocked !== null) return null;
    return prepareTurn(this.#runtime, turn);
  }

  #withTurn(start: LeasedStart, prepared: PreparedTurn): StartItem {
    this.#prepared.set(start.lease.token, prepared);
    const { item } = prepared;
    const { waitingEvents = "ready" } = item; // the turn has consumed the start message
    return { ...start, firstTurn: { ...item, key: 0, consumed: [], waitingEvents } };
  }

  /** The store has answered. Returns true if it has written the turn too, and the instance is held or done. */
  settled(start: LeasedStart, result: StartResult): boolean {
    const prepared = this.#prepared.get(start.lease.token);
    if (prepared === undefined) return false;
    this.#prepared.delete(start.lease.token);
    if (result.kind !== "started" || result.due === undefined) {
      prepared.preLeases.takeBack();
      return false;
    }
    const { heldInstances, window, turnResults, monotonic } = this.#runtime;
    const { turn, item, events, logs } = prepared;
    const held = holdInstance(leasedFrom(start, result.key), turn.held.definition, monotonic());
    held.messages = [];
    held.run = turn.run;
    heldInstances.cache.add(held);
    window.begins(held);
    heldInstances.transition(held, "begin");
    heldInstances.transition(held, "submit");
    const { key, due, undelivered } = result;
    const committed = { turn: { ...turn, held }, item: { ...item, key }, events, logs, due };
    turnResults.committed({ ...committed, undelivered });
    return true;
  }
}

/** The instance as a lease call would return it, with its start message. */
export function leasedFrom(
  { id, runId, name, version, priority, lease, started }: LeasedStart,
  key: number,
): LeasedInstance {
  const message = { id: 0, kind: "start", execution: 1, sequence: null, name: null } as const;
  return {
    key,
    id,
    runId,
    name,
    version,
    execution: 1,
    token: lease.token,
    lastEvent: 0,
    priority,
    copiedUntil: 0,
    suspicion: 0,
    blocked: null,
    stepsOpen: false,
    fresh: true,
    messages: [{ ...message, key: null, data: started, visibleAt: 0 }],
    history: [],
  };
}
