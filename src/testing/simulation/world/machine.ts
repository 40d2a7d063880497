// Machine: one simulated process with a client and, if it is a worker, a runtime.
//   - Each machine has a separate event loop, separate clocks and a separate line to the store. A crash
//        ends all of them at once.
//   - The ledger records every activity run of the machine.
//   - `bury` cleans up, after the run, what a crashed runtime left in the host (guards, listeners).

import { Signer } from "../../../client/callbacks/signer.ts";
import { Client } from "../../../client/client.ts";
import { carryOutRepair } from "../../../client/repair/carry-out.ts";
import { Committer } from "../../../core/commit/committer.ts";
import type { CallbackSettings } from "../../../core/define/callback.ts";
import type { Activity } from "../../../core/define/definitions.ts";
import { checksumOf } from "../../../core/values/checksum.ts";
import type { LogSink } from "../../../core/telemetry/log.ts";
import type { RuntimeOptions } from "../../../runtime/options.ts";
import type { Definition } from "../../../core/define/registrable.ts";
import { Runtime } from "../../../runtime/runtime.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Ledger, RunEntry } from "../ledger.ts";
import { Line } from "../line.ts";
import type { Network } from "./network.ts";
import { ProcessEnvironment } from "./process-environment.ts";
import type { SimulatedStore } from "./simulated-store.ts";
import type { Loop, Timeline } from "../timeline.ts";

/** The process, as user code in it sees it. */
export interface SimulatedProcess {
  readonly name: string;
  /** The deployment of the process: 1, or 2 after a rolling deploy. */
  readonly generation: number;
  /** The time unit of the run: one heartbeat period. Leases and faults last several units. */
  readonly unitMs: number;
  /** Waits in simulated time. Never returns if the process crashes meanwhile. */
  sleep(ms: number): Promise<void>;
  /**
   * Ends the process at once, as a bug in the code would. The report counts the crash under the given name.
   */
  crash(name?: string): Promise<never>;
}

/** The settings of callbacks of all processes. Not a secret: it is in the source. */
export const SIMULATED_CALLBACKS: CallbackSettings = {
  secrets: ["a secret of simulations, which is not secret"],
  baseUrl: "https://callbacks.test",
};

/** How long drives begin work, in units. The longest activity ends only within the longer one. */
const DRIVE_UNITS = [8, 80] as const;

export interface MachineOptions {
  readonly name: string;
  readonly generation: number;
  readonly unitMs: number;
  readonly timeline: Timeline;
  readonly store: SimulatedStore;
  readonly network: Network;
  readonly random: SeededRandom;
  readonly ledger: Ledger;
  readonly log: LogSink;
  /** Whether the process has the settings of callbacks. */
  readonly hasCallbacks: boolean;
  readonly onCrash: (machine: Machine) => void;
  /** Called before user code ends its process. */
  readonly onOwnCrash: (machine: Machine, name: string) => void;
}

export class Machine implements SimulatedProcess {
  readonly name: string;
  readonly generation: number;
  readonly unitMs: number;
  readonly loop: Loop;
  readonly environment: ProcessEnvironment;
  readonly line: Line;
  readonly client: Client;
  runtime: Runtime | null = null;
  isStopping = false;
  readonly #o: MachineOptions;
  #isAlive = true;
  readonly #died = Promise.withResolvers<void>();
  #started: Promise<void> = Promise.resolve();

  constructor(options: MachineOptions) {
    const { name, generation, timeline, random, store, network } = options;
    this.#o = options;
    this.name = name;
    this.generation = generation;
    this.unitMs = options.unitMs;
    this.loop = timeline.addLoop(name);
    this.environment = new ProcessEnvironment({ timeline, loop: this.loop, random });
    const { loop, environment } = this;
    this.line = new Line({ name, loop, environment, store, network });
    this.client = new Client(this.line.provider, this.#callbacks);
  }

  get #callbacks(): { readonly callbacks?: CallbackSettings } {
    return this.#o.hasCallbacks ? { callbacks: SIMULATED_CALLBACKS } : {};
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  readonly sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => void this.#o.timeline.after(ms, resolve, this.loop, false));

  readonly crash = (name = "poison"): Promise<never> => {
    if (this.#isAlive) this.#o.onOwnCrash(this, name);
    this.die();
    return new Promise<never>(() => undefined);
  };

  /** Starts the client and the runtime. Rejects if the store is not reachable. `drives`: the runtime drives. */
  start(register: readonly Definition[], options: RuntimeOptions, drives = false): Promise<void> {
    this.#started = this.#start(register, options, drives);
    return this.#started;
  }

  async #start(
    register: readonly Definition[],
    options: RuntimeOptions,
    drives: boolean,
  ): Promise<void> {
    const definitions = register.map((definition) => this.#recorded(definition));
    this.runtime = new Runtime(
      this.line.provider,
      { ...options, log: this.#o.log, register: definitions, ...this.#callbacks },
      {
        carryOutRepair,
        makeSigner: (provider, settings) => new Signer(provider, settings),
        makeClient: (provider, clientOptions) => new Client(provider, clientOptions),
        threadEntry: new URL("data:text/javascript,"), // the simulation uses no threads
      },
    );
    if (drives) void this.#driveOn(this.runtime);
    else await this.runtime.start();
  }

  /** Drives when something comes due, and once per unit: no simulated client calls a handler. */
  async #driveOn(runtime: Runtime): Promise<void> {
    while (!this.isStopping) {
      let waitMs = this.unitMs;
      try {
        const units = DRIVE_UNITS[this.environment.random() < 0.5 ? 0 : 1];
        const { nextAt } = await runtime.drive({ maxMs: units * this.unitMs });
        if (nextAt !== null) waitMs = Math.min(nextAt.getTime() - this.#o.store.now(), waitMs);
      } catch {
        // the store is down, or the runtime is shutting down
      }
      await this.sleep(Math.max(waitMs, 1));
    }
  }

  /** Shuts the runtime down, unless the process crashes meanwhile. */
  stop(graceMs: number): Promise<void> {
    this.isStopping = true;
    return Promise.race([this.#stop(graceMs), this.#died.promise]);
  }

  async #stop(graceMs: number): Promise<void> {
    await this.#started.catch(() => undefined);
    await this.runtime?.shutdown({ graceMs });
  }

  die(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.line.sever();
    this.#o.timeline.kill(this.loop);
    this.#o.onCrash(this);
    this.#died.resolve();
  }

  /** Ends the process after its shutdown. */
  exit(): void {
    this.#isAlive = false;
    this.line.sever();
    this.#o.timeline.removeLoop(this.loop);
  }

  /** Cleans up what a crashed process left in the host. Must run on the timeline, after everything else. */
  async bury(): Promise<void> {
    const { timeline } = this.#o;
    timeline.revive(this.loop);
    this.line.bury();
    Committer.of(this.line.provider).close();
    await this.runtime?.shutdown({ graceMs: 0 });
    timeline.removeLoop(this.loop);
  }

  #recorded(definition: Definition): Definition {
    if (definition.kind === "activity") return this.#recordedActivity(definition);
    const { activities } = definition;
    if (activities === undefined) return definition;
    return { ...definition, activities: activities.map((each) => this.#recordedActivity(each)) };
  }

  #recordedActivity(definition: Activity<never, unknown>): Activity<never, unknown> {
    const recorded: typeof definition.handler = (input, context) => {
      const { idempotencyKey: key, attempt, info } = context;
      const { activity: name, instanceId: instance } = info;
      const sum = checksumOf(JSON.stringify(input) ?? "");
      const entry = { kind: "activity", name, instance, key, attempt, input: sum } as const;
      return this.record(entry, () => definition.handler(input, context));
    };
    return { ...definition, handler: recorded };
  }

  /** Records a run and its end in the ledger (ledger.1, ledger.2). */
  async record<T>(
    entry: Pick<RunEntry, "kind" | "name" | "instance" | "key" | "attempt" | "input">,
    run: () => T | Promise<T>,
  ): Promise<T> {
    if (!this.#isAlive) return new Promise<never>(() => undefined);
    const { ledger, timeline, store } = this.#o;
    const moment = { at: timeline.now, storeAt: store.now() };
    const noted = ledger.enter({ ...entry, ...moment, process: this.name });
    const over = (end: RunEntry["end"]): void => {
      if (!this.#isAlive) return;
      noted.end = end;
      noted.endedAt = timeline.now;
    };
    try {
      const value = await run();
      over("completed");
      return value;
    } catch (error) {
      over("failed");
      throw error;
    }
  }
}
