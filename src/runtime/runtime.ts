// The runtime: the engine in one process. It runs until its shutdown, or it drives (drive.ts).
//   - A runtime that was started does not drive, and a runtime that drives is not started.
//   - The runtime does not close the provider.

import { checkInteger, checkMembers, invalidArgument } from "../core/checks.ts";
import type { DriveOptions, DriveResult } from "../core/define/drive.ts";
import type { RegisteredWork } from "../core/define/work-matching.ts";
import { PerdureError } from "../core/errors/errors.ts";
import type { Provider } from "../core/provider/provider.ts";
import { RuntimeContext } from "./context.ts";
import { checkDrive, Drive, NOTHING_REMEMBERED } from "./drive.ts";
import type { RuntimeCounts } from "./health/stats.ts";
import { Lifecycle } from "./lifecycle.ts";
import type { RuntimeStart, RuntimeWiring } from "./wiring.ts";

export class Runtime {
  readonly id: string;
  readonly #lifecycle: Lifecycle;
  readonly #makeDrive: () => Lifecycle;
  readonly #driveMemory = { ...NOTHING_REMEMBERED };
  /** The last drive. */
  #drive: Drive | null = null;
  #hasStarted = false;

  constructor(provider: Provider, options: RuntimeStart, wiring: RuntimeWiring) {
    this.#lifecycle = new Lifecycle(new RuntimeContext(provider, options, wiring));
    this.id = this.#lifecycle.context.id;
    this.#makeDrive = () => new Lifecycle(new RuntimeContext(provider, options, wiring, this.id));
  }

  /** Resolves when the runtime has shut down. */
  get stopped(): Promise<void> {
    return this.#lifecycle.stopped;
  }

  /** Whether the runtime has started and is not shutting down: it takes work. */
  get isReady(): boolean {
    return this.#hasStarted && this.#lifecycle.context.state === "running";
  }

  registered(): Pick<RegisteredWork, "activities" | "orchestrations" | "roles"> {
    return this.#lifecycle.context.registry.list();
  }

  /** Counters since the start, or of the last drive. */
  stats(): RuntimeCounts {
    return (this.#drive?.lifecycle ?? this.#lifecycle).stats();
  }

  /** Registers with the store, begins to lease work and calls `onOpen` of the registered definitions. */
  async start(): Promise<void> {
    if (this.#lifecycle.context.state !== "new" || this.#drive !== null) {
      const why = "A runtime can start only once, and not after a drive; create a new one.";
      throw invalidArgument(why);
    }
    await this.#lifecycle.start();
    try {
      await this.#lifecycle.openDefinitions();
    } catch (error) {
      await this.shutdown({ graceMs: 0 });
      throw error;
    }
    this.#hasStarted = true;
  }

  /** Works off what is due and returns (`Perdure.drive`). */
  async drive(options: DriveOptions = {}): Promise<DriveResult> {
    const maxMs = checkDrive(options);
    const { state } = this.#lifecycle.context;
    if (state === "stopping" || state === "stopped") {
      throw new PerdureError(
        "SHUTTING_DOWN",
        "The runtime was shut down; open a new one to drive.",
      );
    }
    if (state === "running") {
      const way = "open it with autoStart: false, and do not start the runtime";
      throw invalidArgument(`A runtime that was started does not drive; ${way}.`);
    }
    if (this.#drive?.isOver === false) {
      const way = "wait for its result before the next drive";
      throw new PerdureError("DRIVE_RUNNING", `A drive of this runtime is running; ${way}.`);
    }
    this.#drive = new Drive(this.#makeDrive(), this.#driveMemory, maxMs);
    return this.#drive.run();
  }

  /** Stops leasing work, lets running work finish within the grace period, and hands the rest back. */
  async shutdown(options: { readonly graceMs?: number } = {}): Promise<void> {
    checkMembers(options, { graceMs: true }, "shutdown");
    checkInteger(options.graceMs, 0, "graceMs");
    const { graceMs = 10_000 } = options;
    const ended = this.#lifecycle.shutdown(graceMs);
    await this.#drive?.stop(graceMs);
    await ended;
  }
}
