// World: the timeline, the store, the network, the processes and the watchers of one run.
//   - A process that crashes, or cannot reach its store at start, is restarted after a while, as by a
//        supervisor. A process and its successors share one slot.
//   - A violation does not stop the run. All violations are reported.

import type { LogLevel } from "../../../core/telemetry/log.ts";
import type { Definition } from "../../../core/define/registrable.ts";
import { callText } from "../call-text.ts";
import { SeededRandom } from "./seeded-random.ts";
import { Inspector } from "../inspector.ts";
import { Ledger } from "../ledger.ts";
import { Machine, type SimulatedProcess } from "./machine.ts";
import { Network } from "./network.ts";
import type { PlainOptions, Scenario } from "../scenario.ts";
import { SimulatedStore, type Sabotage } from "./simulated-store.ts";
import { Timeline } from "../timeline.ts";
import { Trace } from "../trace.ts";
import type { InvariantNumber, OtherFault, Violation } from "../violation.ts";

/** A slot: one process and its successors. */
export interface Slot {
  readonly index: number;
  readonly name: string;
  /** The options of a worker. Null for a client. */
  readonly options: PlainOptions | null;
  /** The current process. Null after a crash, until the successor starts. */
  machine: Machine | null;
  incarnations: number;
  generation: number;
}

export interface WorldOptions {
  readonly scenario: Scenario;
  readonly keepsTrace: boolean;
  readonly sabotage?: Sabotage | undefined;
  /** Returns what a worker registers. */
  readonly register: (process: SimulatedProcess) => readonly Definition[];
  /** Whether the processes have the settings of callbacks. */
  readonly hasCallbacks: boolean;
  /** Called when a process of the slot has started. */
  readonly onUp: (slot: Slot) => void;
}

/** The maximum number of violations in a report. */
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
  /** The number of faults that had an effect, by kind and target. */
  readonly landed = new Map<string, number>();
  readonly corpses: Machine[] = [];
  /** The number of crashes that user code caused. */
  ownCrashes = 0;
  /** The time of the last crash, by the store's clock. */
  lastDeathAt = -Infinity;
  /** How often the store lost commits, and the time of the last loss since the start of the run. */
  forgotten = { times: 0, atMs: -Infinity };
  /** Ids of the runtimes that deregistered after the faults had stopped. */
  readonly stopped = new Set<string>();
  readonly #o: WorldOptions;
  readonly #random: SeededRandom;
  #isClosing = false;
  /** The time until the successor of a crashed process starts. The fault that crashes the process sets it. */
  backAfterMs: number;

  static async open(options: WorldOptions): Promise<World> {
    const random = new SeededRandom(options.scenario.seed, "run");
    const parts: { world?: World } = {};
    const trace = new Trace({
      keeps: options.keepsTrace,
      elapsedMs: () => timeline.now,
    });
    const timeline = new Timeline({
      random: random.of("timeline"),
      onStep: (choice) => trace.step(choice),
      onUncaught: (loop, error) =>
        parts.world?.report("C20", `${loop?.name ?? "the world"} threw: ${text(error)}`),
    });
    const store = await SimulatedStore.open({
      timeline,
      random: random.of("store"),
      sabotage: options.sabotage,
      mayForget: options.scenario.faults.kinds.includes("forget"),
    });
    const world = new World(options, { random, trace, timeline, store });
    parts.world = world;
    return world;
  }

  private constructor(
    options: WorldOptions,
    parts: { random: SeededRandom; trace: Trace; timeline: Timeline; store: SimulatedStore },
  ) {
    const { scenario } = options;
    this.#o = options;
    this.scenario = scenario;
    this.#random = parts.random;
    this.trace = parts.trace;
    this.timeline = parts.timeline;
    this.store = parts.store;
    this.backAfterMs = 2 * scenario.unitMs;
    this.network = new Network({
      timeline: this.timeline,
      store: this.store,
      random: parts.random.of("network"),
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
      { name: "d", options: null }, // the driver, a process that never crashes
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

  /** Starts no more processes. */
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
      random: this.#random.of(name),
      ledger: this.ledger,
      hasCallbacks: this.#o.hasCallbacks,
      log: (level, message, fields) => this.#log(name, level, message, fields),
      onCrash: (dead) => this.#crashed(slot, dead),
      onOwnCrash: (dying, fault) => {
        this.ownCrashes++;
        this.land(fault, dying.name);
      },
    });
    slot.machine = machine;
    this.trace.note(name, `starts${slot.options === null ? "" : ` generation ${slot.generation}`}`);
    // The code of a process always runs on its own loop.
    this.timeline.post(machine.loop, () => void this.#begin(slot, machine));
  }

  async #begin(slot: Slot, machine: Machine): Promise<void> {
    if (slot.options !== null) {
      try {
        const { drives } = this.scenario;
        await machine.start(this.#o.register(machine), slot.options, drives);
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

  /** Whether a worker has not started yet with the code that was deployed to it. */
  get isDeploying(): boolean {
    return this.slots.some(({ machine, generation }) => (machine?.generation ?? 1) < generation);
  }

  /** Replaces a worker by one with the next generation's code, after a shutdown. */
  async deploy(slot: Slot, graceMs: number): Promise<void> {
    slot.generation++;
    const { machine } = slot;
    if (machine === null) return; // the successor starts with the new code
    this.trace.note(machine.name, "is shutting down");
    await machine.stop(graceMs);
    if (!machine.isAlive) return;
    this.trace.note(machine.name, "stopped");
    machine.exit();
    slot.machine = null;
    this.boot(slot);
  }

  #log(
    source: string,
    level: LogLevel,
    message: string,
    fields: Readonly<Record<string, unknown>>,
  ) {
    const instance = fields["instance"];
    this.trace.note(
      source,
      `${level}: ${message}${typeof instance === "string" ? ` [${instance}]` : ""}`,
    );
    if (message.includes("failed inside the engine")) {
      this.report("C20", `${message}: ${text(fields["error"])}`);
    }
    if (message.includes("unhandled promise rejection")) {
      this.report("C20", `${message}: ${text(fields["error"])}`);
    }
  }
}

export function text(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
