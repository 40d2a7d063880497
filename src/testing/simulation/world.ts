// The world of one run: the timeline, the store, the network, the processes, and everybody who watches them.
//   WD1. A process that dies, or cannot reach its store when it starts, is started again after a while, as a
//        supervisor does; its slot is the place that it and its successors have in common.
//   WD2. A violation ends nothing: the run goes on, and all of them are told.

import type { LogLevel } from "../../core/log.ts";
import type { Definition } from "../../core/registrable.ts";
import { callText } from "./call-text.ts";
import { Chance } from "./chance.ts";
import { Inspector } from "./inspector.ts";
import { Ledger } from "./ledger.ts";
import { Machine, type SimulatedProcess } from "./machine.ts";
import { Network } from "./network.ts";
import type { PlainOptions, Scenario } from "./scenario.ts";
import { SimulatedStore, type Sabotage } from "./simulated-store.ts";
import { Timeline } from "./timeline.ts";
import { Trace } from "./trace.ts";
import type { InvariantNumber, OtherFault, Violation } from "./violation.ts";

/** The place of one process and its successors. */
export interface Slot {
  readonly index: number;
  readonly name: string;
  /** Null: a client. */
  readonly options: PlainOptions | null;
  /** Null: it died, and its successor has not started yet. */
  machine: Machine | null;
  incarnations: number;
  generation: number;
}

export interface WorldOptions {
  readonly scenario: Scenario;
  readonly keepsTrace: boolean;
  readonly sabotage?: Sabotage | undefined;
  /** What a worker registers. */
  readonly register: (process: SimulatedProcess) => readonly Definition[];
  /** A process of this slot is up. */
  readonly onUp: (slot: Slot) => void;
}

/** Enough to see what is wrong. */
const VIOLATIONS_MAX = 50;

export class World {
  readonly scenario: Scenario;
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly store: SimulatedStore;
  readonly network: Network;
  readonly ledger = new Ledger();
  readonly inspector: Inspector;
  readonly slots: readonly Slot[];
  readonly violations: Violation[] = [];
  /** Faults that hit something, by kind and target. */
  readonly landed = new Map<string, number>();
  readonly corpses: Machine[] = [];
  /** Of these deaths, those that user code caused. */
  ownCrashes = 0;
  /** When a process died last, by the store's clock. */
  lastDeathAt = -Infinity;
  /** How often the store forgot something, and when last, since the beginning of the run. */
  forgotten = { times: 0, atMs: -Infinity };
  /** Runtimes that said goodbye while nothing went wrong. */
  readonly stopped = new Set<string>();
  readonly #o: WorldOptions;
  readonly #chance: Chance;
  #isClosing = false;
  /** How long until a dead process's successor; set by the fault that kills it. */
  backAfterMs: number;

  static async open(options: WorldOptions): Promise<World> {
    const chance = new Chance(options.scenario.seed, "run");
    const parts: { world?: World } = {};
    const trace = new Trace({
      keeps: options.keepsTrace,
      elapsedMs: () => timeline.now,
    });
    const timeline = new Timeline({
      chance: chance.of("timeline"),
      onStep: (choice) => trace.step(choice),
      onUncaught: (loop, error) =>
        parts.world?.report("I20", `${loop?.name ?? "the world"} threw: ${text(error)}`),
    });
    const store = await SimulatedStore.open({
      timeline,
      chance: chance.of("store"),
      sabotage: options.sabotage,
      mayForget: options.scenario.faults.kinds.includes("forget"),
    });
    const world = new World(options, { chance, trace, timeline, store });
    parts.world = world;
    return world;
  }

  private constructor(
    options: WorldOptions,
    parts: { chance: Chance; trace: Trace; timeline: Timeline; store: SimulatedStore },
  ) {
    const { scenario } = options;
    this.#o = options;
    this.scenario = scenario;
    this.#chance = parts.chance;
    this.trace = parts.trace;
    this.timeline = parts.timeline;
    this.store = parts.store;
    this.backAfterMs = 2 * scenario.unitMs;
    this.network = new Network({
      timeline: this.timeline,
      store: this.store,
      chance: parts.chance.of("network"),
      faults: scenario.faults.network,
      onLanded: (kind, what) => this.land(kind, what),
    });
    this.store.watchers.push((call) => {
      const line = callText(call);
      if (line !== null) this.trace.note(call.by, line);
    });
    this.inspector = new Inspector(this.store, (invariant, what) => this.report(invariant, what));
    this.slots = [
      ...scenario.workers.map((worker) => ({ name: "w", options: worker })),
      ...Array.from({ length: scenario.clients }, () => ({ name: "c", options: null })),
      { name: "d", options: null }, // the driver, whom no fault hits
    ].map(({ name, options: own }, index) => ({
      index,
      name: `${name}${index + 1}`,
      options: own,
      machine: null,
      incarnations: 0,
      generation: 1,
    }));
  }

  report(invariant: InvariantNumber | OtherFault, what: string): void {
    this.trace.note("!", `${invariant} ${what}`);
    if (this.violations.length >= VIOLATIONS_MAX) return;
    this.violations.push({ invariant, what, atMs: this.timeline.now });
  }

  land(kind: string, what: string): void {
    const name = `${kind} ${what}`;
    this.landed.set(name, (this.landed.get(name) ?? 0) + 1);
    this.trace.note("×", name);
  }

  get alive(): readonly Machine[] {
    return this.slots.flatMap(({ machine }) => (machine?.isAlive === true ? machine : []));
  }

  /** Nobody is started any more. */
  close(): void {
    this.#isClosing = true;
  }

  /** Starts a process in that slot. */
  boot(slot: Slot): void {
    if (this.#isClosing) return;
    const name = `${slot.name}.${++slot.incarnations}`;
    const machine = new Machine({
      name,
      generation: slot.generation,
      unitMs: this.scenario.unitMs,
      timeline: this.timeline,
      store: this.store,
      network: this.network,
      chance: this.#chance.of(name),
      ledger: this.ledger,
      log: (level, message, fields) => this.#log(name, level, message, fields),
      onCrash: (dead) => this.#crashed(slot, dead),
      onOwnCrash: (dying, fault) => {
        this.ownCrashes++;
        this.land(fault, dying.name);
      },
    });
    slot.machine = machine;
    this.trace.note(name, `boots${slot.options === null ? "" : ` generation ${slot.generation}`}`);
    // As a host begins a program: on its own loop.
    this.timeline.post(machine.loop, () => void this.#begin(slot, machine));
  }

  async #begin(slot: Slot, machine: Machine): Promise<void> {
    if (slot.options !== null) {
      try {
        await machine.start(this.#o.register(machine), slot.options);
      } catch (error) {
        this.trace.note(machine.name, `cannot start: ${text(error)}`);
        return machine.die();
      }
    }
    this.#o.onUp(slot);
  }

  #crashed(slot: Slot, dead: Machine): void {
    this.trace.note(dead.name, "dies");
    this.lastDeathAt = this.store.now();
    this.corpses.push(dead);
    if (slot.machine !== dead) return;
    slot.machine = null;
    this.timeline.after(this.backAfterMs, () => {
      if (slot.machine === null) this.boot(slot);
    });
  }

  /** Replaces a worker by one with the next generation's code, in good order. */
  async deploy(slot: Slot, graceMs: number): Promise<void> {
    slot.generation++;
    const { machine } = slot;
    if (machine === null) return; // its successor has the new code
    this.trace.note(machine.name, "is asked to stop");
    await machine.stop(graceMs);
    if (!machine.isAlive) return;
    this.trace.note(machine.name, "stopped");
    machine.exit();
    slot.machine = null;
    this.boot(slot);
  }

  #log(who: string, level: LogLevel, message: string, fields: Readonly<Record<string, unknown>>) {
    const instance = fields["instance"];
    this.trace.note(
      who,
      `${level}: ${message}${typeof instance === "string" ? ` [${instance}]` : ""}`,
    );
    if (message.includes("failed inside the engine")) {
      this.report("I20", `${message}: ${text(fields["error"])}`);
    }
    if (message.includes("nobody was waiting for it")) {
      this.report("I20", `${message}: ${text(fields["error"])}`);
    }
  }
}

export function text(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
