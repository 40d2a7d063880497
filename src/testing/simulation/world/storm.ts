// Storm: applies the faults of a scenario, each at its planned time, and stops all faults at the end.

import type { FaultEvent } from "./faults.ts";
import { isTerminalStatus } from "../../../core/provider/instances.ts";
import type { Machine } from "./machine.ts";
import type { Slot, World } from "./world.ts";

export class Storm {
  readonly #world: World;
  /** Ids of the instances whose history was damaged. */
  readonly damaged = new Set<string>();
  /** The total time by which the store's clock went back. */
  backwardMs = 0;
  isCalm = false;

  constructor(world: World) {
    this.#world = world;
    for (const event of world.scenario.faults.events) {
      if (event.kind === "forget") {
        this.#forgets(event);
        continue;
      }
      world.timeline.after(event.atMs, () => {
        if (!this.isCalm) this.#strike(event);
      });
    }
  }

  /** Restores the store, and the knowledge of its watchers, to an earlier moment. */
  #forgets({ atMs, backMs }: Extract<FaultEvent, { kind: "forget" }>): void {
    const { timeline, store, inspector } = this.#world;
    timeline.after(atMs - backMs, () => {
      if (this.isCalm) return;
      const restores = [store.checkpoint(), inspector.checkpoint()];
      timeline.after(backMs, () => {
        if (this.isCalm) return;
        this.#world.land("forget", `${backMs} ms`);
        const { times } = this.#world.forgotten;
        this.#world.forgotten = { times: times + 1, atMs: timeline.now };
        store.repair(); // a damaged row is found by its instance's key, which another instance may get later
        for (const restore of restores) restore();
      });
    });
  }

  #strike(event: Exclude<FaultEvent, { kind: "forget" }>): void {
    const { timeline, network, store, scenario } = this.#world;
    const slot = "slot" in event ? this.#world.slots[event.slot] : undefined;
    const machine = slot?.machine ?? null;
    switch (event.kind) {
      case "crash":
        if (machine === null) return;
        machine.loop.doom = {
          left: event.steps,
          strike: () => {
            this.#world.land("crash", machine.name);
            this.#world.backAfterMs = event.backAfterMs;
            machine.die();
            this.#world.backAfterMs = 2 * scenario.unitMs;
          },
        };
        return;
      case "pause":
        if (machine === null) return;
        machine.loop.doom = { left: event.steps, strike: () => this.#pause(machine, event.forMs) };
        return;
      case "partition":
        if (machine === null) return;
        this.#world.land("partition", machine.name);
        machine.line.cutUntilMs = timeline.now + event.forMs;
        return;
      case "clock":
        this.#world.land("clock", `${event.jumpMs} ms`);
        store.jumpClock(event.jumpMs);
        if (event.jumpMs < 0) this.backwardMs -= event.jumpMs;
        return;
      case "skew":
        if (machine === null) return;
        this.#world.land("skew", machine.name);
        machine.environment.skew(event.wallMs);
        machine.line.clockErrorMs = event.copyMs;
        return;
      case "storeDown":
        network.isStoreDown = true;
        timeline.after(event.forMs, () => void (network.isStoreDown = false));
        return;
      case "diskFull":
        network.isDiskFull = true;
        timeline.after(event.forMs, () => void (network.isDiskFull = false));
        return;
      case "deploy":
        if (slot !== undefined) this.#deploy(slot, event.graceMs);
        return;
      case "damage":
        return this.#damage(event.pick);
    }
  }

  #pause(machine: Machine, forMs: number): void {
    const { timeline, trace } = this.#world;
    this.#world.land("pause", machine.name);
    timeline.pause(machine.loop);
    timeline.after(forMs, () => {
      trace.note(machine.name, "resumes");
      timeline.resume(machine.loop);
    });
  }

  #deploy(slot: Slot, graceMs: number): void {
    this.#world.land("deploy", slot.name);
    void this.#world.deploy(slot, graceMs);
  }

  /** Truncates a history row of an instance that has not ended. */
  #damage(pick: number): void {
    const { inspector, store } = this.#world;
    const live = inspector.snapshots.ids.filter((id) => {
      const snapshot = inspector.snapshots.last(id);
      return (
        snapshot !== null && !isTerminalStatus(snapshot.record.status) && snapshot.rows.length > 0
      );
    });
    const id = live[pick % Math.max(live.length, 1)];
    const snapshot = id === undefined ? null : inspector.snapshots.last(id);
    const row = snapshot?.rows[pick % snapshot.rows.length];
    if (id === undefined || snapshot === null || row === undefined) return;
    this.#world.land("damage", `${id} ${row.first}–${row.last}`);
    this.damaged.add(id);
    store.damage(snapshot.record, row.first, row.data.slice(0, row.data.length >> 1));
  }

  /** Stops all faults. */
  calm(): void {
    const { timeline, network, store, slots, trace } = this.#world;
    this.isCalm = true;
    trace.note("~", "calm");
    network.calm();
    store.repair();
    for (const { machine } of slots) {
      if (machine === null) continue;
      machine.loop.doom = null;
      machine.line.cutUntilMs = 0;
      timeline.resume(machine.loop);
    }
  }
}
