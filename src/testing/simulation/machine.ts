// A machine: one simulated process with a client and, if it is a worker, a runtime.
//   MA1. Everything it does runs on its own loop, clocks and line; crashing cuts all of them at once.
//   MA2. Its activities are entered into the ledger, whoever wrote them.
//   MA3. What a crashed runtime put up in the host (guards, listeners) is taken down by `bury`, after the run.

import { Client } from "../../client/client.ts";
import { Committer } from "../../core/committer.ts";
import type { Activity } from "../../core/definitions.ts";
import type { LogSink } from "../../core/log.ts";
import type { RuntimeOptions } from "../../runtime/options.ts";
import type { Definition } from "../../core/registrable.ts";
import { Runtime } from "../../runtime/runtime.ts";
import type { Chance } from "./chance.ts";
import type { Ledger, RunEntry } from "./ledger.ts";
import { Line } from "./line.ts";
import type { Network } from "./network.ts";
import { ProcessEnvironment } from "./process-environment.ts";
import type { SimulatedStore } from "./simulated-store.ts";
import type { Loop, Timeline } from "./timeline.ts";

/** What user code may know of the process that runs it. */
export interface SimulatedProcess {
  readonly name: string;
  /** The deployment that it belongs to: 1, and after a rolling deploy 2. */
  readonly generation: number;
  /** The measure of everything that takes time in this run: a beat; leases and faults are some of them. */
  readonly unitMs: number;
  /** Waits in simulated time; never returns if the process dies meanwhile. */
  sleep(ms: number): Promise<void>;
  /** Ends the process at once, as a fault of the code would. The report counts it under the given name. */
  crash(name?: string): Promise<never>;
}

export interface MachineOptions {
  readonly name: string;
  readonly generation: number;
  readonly unitMs: number;
  readonly timeline: Timeline;
  readonly store: SimulatedStore;
  readonly network: Network;
  readonly chance: Chance;
  readonly ledger: Ledger;
  readonly log: LogSink;
  readonly onCrash: (machine: Machine) => void;
  /** Its own code is about to end it. */
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
    const { name, generation, timeline, chance, store, network } = options;
    this.#o = options;
    this.name = name;
    this.generation = generation;
    this.unitMs = options.unitMs;
    this.loop = timeline.addLoop(name);
    this.environment = new ProcessEnvironment({ timeline, loop: this.loop, chance });
    const { loop, environment } = this;
    this.line = new Line({ name, loop, environment, store, network });
    this.client = new Client(this.line.provider);
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

  /** Begins to work. Rejects as a program would that could not reach its store. */
  start(register: readonly Definition[], options: RuntimeOptions): Promise<void> {
    this.#started = this.#start(register, options);
    return this.#started;
  }

  async #start(register: readonly Definition[], options: RuntimeOptions): Promise<void> {
    const definitions = register.map((definition) => this.#recorded(definition));
    this.runtime = new Runtime(
      this.line.provider,
      { ...options, log: this.#o.log, register: definitions },
      {
        makeClient: (provider, clientOptions) => new Client(provider, clientOptions),
        threadEntry: new URL("data:text/javascript,"), // there are no threads here
      },
    );
    await this.runtime.start();
  }

  /** Ends in good order, unless it dies meanwhile. */
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

  /** After an orderly end: the process is gone, and has nothing left to do. */
  exit(): void {
    this.#isAlive = false;
    this.line.sever();
    this.#o.timeline.removeLoop(this.loop);
  }

  /** Takes down what a crashed process left in the host. To be run on the timeline, after everything else. */
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
      const entry = { kind: "activity", name, instance, key, attempt } as const;
      return this.record(entry, () => definition.handler(input, context));
    };
    return { ...definition, handler: recorded };
  }

  /** Enters a run into the ledger, and how it ended (LE1, LE2). */
  async record<T>(
    entry: Pick<RunEntry, "kind" | "name" | "instance" | "key" | "attempt">,
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
