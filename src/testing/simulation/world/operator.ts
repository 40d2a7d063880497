// Operator: unblocks instances, as a human operator would, and reports blocks without a valid reason.
//   - HISTORY_CORRUPT is valid only for an instance whose history was damaged by a fault. The operator
//        unblocks it after the row is repaired.
//   - An instance is quarantined after three crashes. If its code ends its process, the workload decides
//        whether the operator unblocks it. Otherwise faults must have ended processes; then the operator
//        unblocks it. A crash by the code itself may count as a fault once, in its first run.
//   - A divergence is valid only while the code of two deployments runs and the workload allows it. The
//        operator does not unblock it: a runtime with the right code does.
//   - The operator resumes an instance that is paused although its client has resumed it.

import type { BlockReason } from "../../../core/history/block.ts";
import { isTerminalStatus, type InstanceRecord } from "../../../core/provider/instances.ts";
import type { Machine } from "./machine.ts";
import type { Storm } from "./storm.ts";
import type { Play } from "./workload.ts";
import type { World } from "./world.ts";

const DEATHS_TO_SET_ASIDE = 3;

export class Operator {
  readonly #world: World;
  readonly #storm: Storm;
  readonly #play: Play;
  #isActing = false;

  constructor(world: World, storm: Storm, play: Play) {
    this.#world = world;
    this.#storm = storm;
    this.#play = play;
  }

  /** Whether a call of the operator may still change an instance. */
  get isActing(): boolean {
    return this.#isActing;
  }

  /** Polls for blocked instances on this machine until the machine ends. */
  async watch(machine: Machine): Promise<void> {
    const everyMs = 6 * this.#world.scenario.unitMs;
    for (;;) {
      await machine.sleep(everyMs);
      this.#isActing = true;
      await this.#look(machine);
      this.#isActing = false;
    }
  }

  async #look(machine: Machine): Promise<void> {
    const { snapshots } = this.#world.inspector;
    for (const id of snapshots.ids) {
      const record = snapshots.last(id)?.record;
      if (record === undefined || isTerminalStatus(record.status)) continue;
      if (record.paused !== null && this.#isPausedByGhost(id)) {
        await quietly(machine.client.get(id).resume());
      }
      if (record.blocked === null) continue;
      const { code, message } = JSON.parse(record.blocked) as BlockReason;
      const verdict = this.#decide(id, code, message);
      if (verdict === "unblock") await quietly(machine.client.get(id).unblock());
    }
  }

  /** Whether a pause of a crashed client arrived after its successor had paused and resumed (network.1). */
  #isPausedByGhost(id: string): boolean {
    return this.#storm.isCalm && (this.#world.inspector.pauses.get(id) ?? 0) > 1;
  }

  #decide(id: string, code: BlockReason["code"], message: string): "unblock" | "wait" {
    const record = this.#world.inspector.snapshots.last(id)?.record;
    if (record === undefined) return "wait";
    switch (code) {
      case "HISTORY_CORRUPT":
        if (!this.#storm.damaged.has(id)) this.#wrong(id, message);
        return this.#storm.isCalm ? "unblock" : "wait";
      case "QUARANTINE":
        return this.#decideQuarantine(record, message);
      default:
        if (this.#play.mayBlock?.(record, code) !== true) this.#wrong(id, `${code} ${message}`);
        return "wait";
    }
  }

  #decideQuarantine(record: InstanceRecord, message: string): "unblock" | "wait" {
    const isBug = message.startsWith("Internal error");
    const planned = this.#play.quarantine?.(record) ?? null;
    if (planned !== null && !isBug) return planned === "unblock" ? "unblock" : "wait";
    if (isBug || this.#deaths() < DEATHS_TO_SET_ASIDE) this.#wrong(record.id, message);
    return "unblock";
  }

  /** The number of processes that crashed, or stood still until they were declared dead. */
  #deaths(): number {
    const paused = [...this.#world.landed.keys()].filter((name) => name.startsWith("pause"));
    const late = [...this.#world.landed.keys()].filter(isLate);
    const { corpses, ownCrashes } = this.#world;
    const died = corpses.length - ownCrashes + (this.#play.killers ?? 0);
    return died + paused.length + late.length + this.#clockJumps();
  }
  #clockJumps(): number {
    return this.#storm.backwardMs > 0 || [...this.#world.landed.keys()].some(isJump) ? 3 : 0;
  }

  #wrong(id: string, message: string): void {
    this.#world.report("blocked", `${id}: ${message}`);
  }
}

/** Ignores the error if the instance has ended meanwhile. */
async function quietly(work: Promise<void>): Promise<void> {
  await work.catch(() => undefined);
}

function isLate(name: string): boolean {
  return name.startsWith("slow") || name.startsWith("partition");
}

function isJump(name: string): boolean {
  return name.startsWith("clock");
}
