// One simulation run: starts the processes, applies the faults, waits until all instances have ended, and
// checks.
//   - Faults happen until the calm time of the scenario. After it, every instance that should end must end
//        within a bounded time. An instance that does not end is reported as stuck.
//   - At the end every process shuts down. It must leave no lease, no timer and no work.
//   - The same scenario gives the same trace, bit for bit.

import { Client } from "../../client/client.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { auditEnd, readEnd } from "./end-audit.ts";
import { overdueWork } from "./invariants/fairness.ts";
import { watchHostRejections } from "./world/host-rejections.ts";
import { Operator } from "./world/operator.ts";
import type { Scenario } from "./scenario.ts";
import type { Sabotage } from "./world/simulated-store.ts";
import { Storm } from "./world/storm.ts";
import type { Violation } from "./violation.ts";
import { handOf, type Play, type Script, type Workload } from "./world/workload.ts";
import { text, World, type Slot } from "./world/world.ts";

/** Options of one run. */
export interface RunOptions {
  /** Whether the result contains the lines of the trace. */
  readonly trace?: boolean;
  readonly sabotage?: Sabotage | undefined;
}
/** The result of one run. */
export interface RunResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** The hash of the trace; equal for every run of one scenario. */
  readonly hash: string;
  readonly trace: readonly string[];
  readonly statistics: RunStatistics;
}
/** The amount of work in one run. */
export interface RunStatistics {
  readonly steps: number;
  readonly virtualMs: number;
  readonly instances: number;
  readonly events: number;
  readonly runs: number;
  readonly acknowledged: number;
  /** The number of faults that had an effect, by kind and target. */
  readonly landed: ReadonlyMap<string, number>;
}

const STEPS_MAX = 500_000;

/** Runs a scenario to its end and checks all invariants. */
export async function runScenario<Plan>(
  workload: Workload<Plan>,
  scenario: Scenario<Plan>,
  options: RunOptions = {},
): Promise<RunResult> {
  const play = workload.begin(scenario);
  const simulation = await Simulation.open(scenario, play, options);
  return simulation.run();
}

class Simulation {
  readonly #world: World;
  readonly #play: Play;
  readonly #storm: Storm;
  readonly #done = new Set<Script>();
  readonly #driver: Slot;
  /** The operator on the driver's newest process. */
  #operator: Operator | null = null;

  static async open(scenario: Scenario, play: Play, options: RunOptions): Promise<Simulation> {
    const simulations: Simulation[] = [];
    const world = await World.open({
      scenario,
      keepsTrace: options.trace ?? false,
      sabotage: options.sabotage,
      register: (process) => play.register(process),
      hasCallbacks: play.hasCallbacks ?? true,
      onUp: (slot) => simulations[0]?.up(slot),
    });
    const simulation = new Simulation(world, play);
    simulations.push(simulation);
    return simulation;
  }

  private constructor(world: World, play: Play) {
    this.#world = world;
    this.#play = play;
    this.#storm = new Storm(world);
    const driver = world.slots.at(-1);
    if (driver === undefined) throw new Error("A world must have a driver.");
    this.#driver = driver;
  }

  async run(): Promise<RunResult> {
    const { timeline, trace, violations, inspector, ledger, landed } = this.#world;
    const unwatch = watchHostRejections((reason) =>
      this.#world.report("C20", `unhandled rejection: ${text(reason)}`),
    );
    try {
      const life = this.#live();
      const outcome = await timeline.run(life, STEPS_MAX);
      if (outcome === "endless")
        this.#world.report("endless", `the run has not ended after ${timeline.steps} steps`);
      else await life;
      const { steps, now: virtualMs } = timeline;
      trace.end();
      await this.#audit();
      return {
        seed: this.#world.scenario.seed,
        violations,
        hash: trace.hash,
        trace: trace.lines,
        statistics: {
          steps,
          virtualMs,
          instances: inspector.snapshots.ids.length,
          events: inspector.events,
          runs: ledger.runs.length,
          acknowledged: ledger.acknowledged.length,
          landed,
        },
      };
    } finally {
      await this.#bury();
      unwatch();
    }
  }

  /** A process has started: it runs its scripts, including those that its predecessor did not finish. */
  up(slot: Slot): void {
    const { machine } = slot;
    if (machine === null) return;
    const hand = handOf(machine, this.#world.ledger, () => this.#world.timeline.now);
    for (const script of this.#play.scripts) {
      const isIts = script.slot === "driver" ? slot === this.#driver : script.slot === slot.index;
      if (!isIts || this.#done.has(script)) continue;
      script.run(hand).then(
        () => this.#done.add(script),
        (error: unknown) => {
          if (!machine.isAlive) return; // a crashed process cannot finish a script
          this.#done.add(script);
          this.#world.report("check", `${script.name}: ${text(error)}`);
        },
      );
    }
    if (slot === this.#driver) {
      this.#operator = new Operator(this.#world, this.#storm, this.#play);
      void this.#operator.watch(machine);
    }
  }

  async #live(): Promise<void> {
    const { timeline, slots, scenario } = this.#world;
    for (const slot of slots) this.#world.boot(slot);
    await timeline.sleep(scenario.calmAtMs);
    this.#storm.calm();
    await this.#untilOver();
    await this.#stopAll();
  }

  async #untilOver(): Promise<void> {
    const { timeline, scenario, store } = this.#world;
    const calmAt = store.now();
    const patienceMs = 30 * scenario.unitMs + 10_000;
    // Timers that were set before the clock went back fire later by that amount. Due work does not wait for
    // them.
    const delaysMs = this.#play.longestMs + this.#storm.backwardMs;
    const limitMs = timeline.now + 100 * scenario.unitMs + 2 * patienceMs + 2 * delaysMs;
    // An actor with a backlog on a slow store still makes progress, but needs more time.
    const lastMs = limitMs + 400 * scenario.unitMs;
    for (;;) {
      const open = await this.#openInstances();
      const waiting = this.#play.scripts.filter((script) => !this.#done.has(script));
      // A deployment may fix the code of an instance in quarantine, which must then end.
      const isChanging = this.#operator?.isActing === true || this.#world.isDeploying;
      if (open.length + waiting.length === 0 && !isChanging) return;
      const overdue = await overdueWork(this.#world, { calmAt, patienceMs });
      for (const what of overdue) this.#world.report("C17", what);
      const isLate = timeline.now > (this.#hasProgress(open, patienceMs) ? lastMs : limitMs);
      if (overdue.length > 0 || isLate) {
        for (const id of open) this.#world.report("stuck", await this.#whyOpen(id));
        for (const { name } of waiting) this.#world.report("stuck", `script ${name} has not ended`);
        return;
      }
      await timeline.sleep(2 * scenario.unitMs);
    }
  }

  /** Whether one of these instances has committed events recently. */
  #hasProgress(ids: readonly string[], patienceMs: number): boolean {
    const { inspector, store } = this.#world;
    const longAgo = store.now() - patienceMs;
    return ids.some((id) => (inspector.snapshots.last(id)?.record.updatedAt ?? 0) > longAgo);
  }

  async #openInstances(): Promise<readonly string[]> {
    const { inspector } = this.#world;
    const open: string[] = [];
    for (const id of inspector.snapshots.ids) {
      const known = inspector.snapshots.last(id)?.record;
      if (known !== undefined && isTerminalStatus(known.status)) continue;
      await inspector.look(id); // the end of another instance may have ended this one
      const record = inspector.snapshots.last(id)?.record;
      if (record === undefined || isTerminalStatus(record.status)) continue;
      if (this.#play.mayWait?.(record) !== true) open.push(id);
    }
    return open;
  }

  async #whyOpen(id: string): Promise<string> {
    const client = new Client(this.#world.store.provider);
    const { status, blocked, waitingFor } = await client.get(id).describe();
    const why = blocked === undefined ? JSON.stringify(waitingFor) : `blocked: ${blocked.message}`;
    return `${id} is ${status}, waiting for ${why}`;
  }

  /** Shuts every process down and checks that none has work left. */
  async #stopAll(): Promise<void> {
    const { alive, timeline, scenario } = this.#world;
    this.#world.close();
    for (const { options, machine } of this.#world.slots) if (options === null) machine?.exit();
    // A process that was already stopping may have been delayed by store faults; it is not checked.
    const workers = alive.filter(({ runtime, isStopping }) => runtime !== null && !isStopping);
    const stoppedAt = new Map<string, number>();
    await Promise.all(
      workers.map(async (machine) => {
        await machine.stop(4 * scenario.unitMs);
        stoppedAt.set(machine.name, timeline.now);
      }),
    );
    await timeline.sleep(4_000); // for calls in flight and for commits that no code awaits
    for (const { process, at, name, key } of this.#world.ledger.runs) {
      if (at <= (stoppedAt.get(process) ?? Infinity)) continue;
      this.#world.report("C20", `${process} had stopped but began ${name} of ${key}`);
    }
    for (const machine of workers) {
      if (!machine.isAlive) continue; // its start failed
      const { timers, ready } = machine.loop;
      if (timers + ready.length > 0) {
        this.#world.report("C20", `${machine.name} has stopped but still has ${timers} timers`);
      }
      if (machine.runtime !== null) this.#world.stopped.add(machine.runtime.id);
      machine.exit();
    }
  }

  async #audit(): Promise<void> {
    const end = await readEnd(this.#world);
    await auditEnd(this.#world, this.#play, end);
    await this.#play.check({
      instances: end,
      ledger: this.#world.ledger,
      client: new Client(this.#world.store.provider),
      report: (what, invariant = "C18") => this.#world.report(invariant, what),
    });
  }

  async #bury(): Promise<void> {
    const { timeline, corpses, slots, store } = this.#world;
    const left = slots.flatMap(({ machine }) => (machine?.isAlive === true ? machine : []));
    for (const machine of left) machine.die();
    for (const machine of corpses) await timeline.run(machine.bury(), STEPS_MAX);
    await store.close();
  }
}
