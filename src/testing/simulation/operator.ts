// The operator: looks after blocked instances, as a person would, and says which blocks should not be there.
//   OP1. A damaged history blocks its instance, and nothing else does: it is unblocked when the row is repaired.
//   OP2. Three deaths over one instance set it aside. If its code ends its process, the workload says whether it is
//        unblocked. Otherwise faults must have ended processes; then it is unblocked. Code that ends its process may be
//        mistaken for a fault once, in its first run.
//   OP3. A divergence is in order only while code of two deployments runs, if the workload says so; nobody unblocks
//        it: the right code finds it by itself.
//   OP4. Whoever finds an instance paused that its own client has long resumed, resumes it again.

import type { BlockReason } from "../../core/block.ts";
import { isTerminalStatus, type InstanceRecord } from "../../core/provider/instances.ts";
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

  /** Whether a call of it may still change an instance. */
  get isActing(): boolean {
    return this.#isActing;
  }

  /** Looks again and again, on that machine, for as long as it lives. */
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
      const verdict = this.#judge(id, code, message);
      if (verdict === "unblock") await quietly(machine.client.get(id).unblock());
    }
  }

  /** A pause that a dead client had sent arrived after its successor had paused and resumed (NW2). */
  #isPausedByGhost(id: string): boolean {
    return this.#storm.isCalm && (this.#world.inspector.pauses.get(id) ?? 0) > 1;
  }

  #judge(id: string, code: BlockReason["code"], message: string): "unblock" | "wait" {
    const record = this.#world.inspector.snapshots.last(id)?.record;
    if (record === undefined) return "wait";
    switch (code) {
      case "HISTORY_CORRUPT":
        if (!this.#storm.damaged.has(id)) this.#wrong(id, message);
        return this.#storm.isCalm ? "unblock" : "wait";
      case "QUARANTINE":
        return this.#judgeQuarantine(record, message);
      default:
        if (this.#play.mayBlock?.(record, code) !== true) this.#wrong(id, `${code} ${message}`);
        return "wait";
    }
  }

  #judgeQuarantine(record: InstanceRecord, message: string): "unblock" | "wait" {
    const isBug = message.startsWith("Internal error");
    const planned = this.#play.quarantine?.(record) ?? null;
    if (planned !== null && !isBug) return planned === "unblock" ? "unblock" : "wait";
    if (isBug || this.#deaths() < DEATHS_TO_SET_ASIDE) this.#wrong(record.id, message);
    return "unblock";
  }

  /** Processes that died, or stood still for so long that they were taken for dead. */
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

/** It may have ended meanwhile. */
async function quietly(work: Promise<void>): Promise<void> {
  await work.catch(() => undefined);
}

function isLate(name: string): boolean {
  return name.startsWith("slow") || name.startsWith("partition");
}

function isJump(name: string): boolean {
  return name.startsWith("clock");
}
