// One run of a scenario: a store, virtual time, and the runtimes that start and stop on the store.
//   - Time is virtual: it passes only in `advance`.
//   - Names and keys have a separate random stream. They are equal in all modes, although the modes draw different
//       numbers of lease tokens.
//   - Heartbeats and polls run once per hour or per day (DAILY), so a lost wake-up shows as a standstill, not as a delay.

import {
  Perdure,
  type ActivityDefaults,
  type CallbackSettings,
  type Client,
  type Definition,
  type Duration,
  type Handle,
  type HistoryEvent,
  type LogLevel,
  type Middleware,
  type OpenOptions,
  type Provider,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { parseDuration } from "../../../src/core/time/duration.ts";
import { definitionsOf } from "../../../src/core/define/registrable.ts";
import { jobOrchestration } from "../../../src/core/replay/job-code.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { StoreEnvironment } from "../../support/store-environment.ts";
import { newPlace, type Place } from "../../support/test-store.ts";
import { Gate } from "./gate.ts";
import { SeverableProvider } from "./severable-provider.ts";
import { story } from "./story.ts";

export type Definitions = NonNullable<OpenOptions["register"]>;
export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly instance: unknown;
}
export interface WorldOptions {
  readonly mode: string;
  readonly modeOptions: RuntimeOptions;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** For scenarios that wait for weeks: an idle process then calls the store once per day. */
export const DAILY = {
  beatMs: DAY_MS,
  staleMs: 2 * DAY_MS,
  stallMs: 2 * DAY_MS,
  pollIntervalMs: DAY_MS,
} as const;

class ScenarioEnvironment extends StoreEnvironment {
  readonly #names = new VirtualEnvironment({ seed: 7 });
  override randomHex(bytes: number): string {
    return this.#names.randomHex(bytes);
  }
}

/** A process: a runtime and a client that share a connection to the store. */
export interface Process {
  readonly perdure: Perdure;
  readonly client: Client;
  readonly line: SeverableProvider;
}

export class World {
  readonly mode: string;
  readonly environment = new ScenarioEnvironment();
  readonly logs: LogLine[] = [];
  /** Ids of all instances started so far. */
  readonly started = new Set<string>();
  /** The registered definitions by `name@version`. Later registrations replace earlier ones. */
  readonly definitions = new Map<string, Definition>();
  /** The settings of the next process. */
  callbacks: CallbackSettings | undefined = {
    secrets: ["a secret of scenarios, 32 bytes or more"],
    baseUrl: "https://example.test/callbacks",
  };
  services: NonNullable<OpenOptions["services"]> = {};
  middleware: readonly Middleware[] = [];
  readonly #modeOptions: RuntimeOptions;
  readonly #processes: Process[] = [];
  #place: Place | null = null;
  #reopens = false;
  #store: Provider | null = null;
  #register: Definitions = [];
  #runtime: RuntimeOptions = {};

  constructor(options: WorldOptions) {
    this.mode = options.mode;
    this.#modeOptions = options.modeOptions;
  }

  /** The client of the newest process. */
  get client(): Client {
    return this.process.client;
  }
  get process(): Process {
    const newest = this.#processes.at(-1);
    if (newest === undefined) throw new Error("no process was booted yet");
    return newest;
  }
  /** The store itself, without the fault injection of a process. */
  get store(): Provider {
    if (this.#store === null) throw new Error("the store is closed");
    return this.#store;
  }
  readonly now = (): number => this.environment.now();

  gate<I = unknown, O = unknown>(
    name: string,
    defaults?: ActivityDefaults & { readonly input?: undefined },
  ): Gate<I, O> {
    const settle = (): Promise<void> => this.settle();
    return new Gate(name, defaults === undefined ? { settle } : { settle, defaults });
  }

  /** Waits until no more work is due at the current time. */
  async settle(): Promise<void> {
    await this.environment.settle();
  }

  async advance(duration: Duration): Promise<void> {
    await this.environment.advance(parseDuration(duration));
    await this.settle();
  }

  /** Waits until no more work is due, then returns the result. Throws TIMEOUT if the instance has not ended. */
  async result<O>(handle: Handle<O>): Promise<O> {
    await this.settle();
    return handle.result({ timeout: 0 });
  }

  /** Waits until no more work is due, then for the outcome of a call that was made before, such as an ask. */
  async during<T>(call: Promise<T>): Promise<T> {
    call.catch(() => undefined);
    await this.settle();
    return call;
  }

  /** The error that the result rejects with. */
  async failure(handle: Handle): Promise<unknown> {
    const failed = Symbol();
    const value = await this.result(handle).then(
      () => failed,
      (error: unknown) => error,
    );
    if (value === failed) throw new Error(`instance "${handle.id}" did not fail`);
    return value;
  }

  async events(handle: Handle, execution?: number): Promise<readonly HistoryEvent[]> {
    await this.settle();
    return handle.history(execution === undefined ? {} : { execution });
  }

  async story(handle: Handle, execution?: number): Promise<readonly string[]> {
    return story(await this.events(handle, execution));
  }

  /** The log messages, in order. */
  get messages(): readonly string[] {
    return this.logs.map((line) => line.message);
  }

  // ── processes ──────────────────────────────────────────────────────────────────────────────────────────────

  async open(options: {
    store: "memory" | "file";
    register: Definitions;
    runtime: RuntimeOptions;
  }): Promise<void> {
    this.#reopens = options.store === "file";
    this.#place = newPlace(options.store);
    this.#register = options.register;
    this.#runtime = options.runtime;
    await this.#openStore();
    await this.boot();
  }

  /** Starts a process with the given code, by default that of the previous process. `fate` may let it die in its first commit. */
  async boot(
    register: Definitions = this.#register,
    runtime: RuntimeOptions = {},
    fate: "runs" | "diesInCommit" = "runs",
  ): Promise<Process> {
    this.#register = register;
    for (const definition of definitionsOf(register)) {
      const version = definition.kind === "orchestration" ? definition.version : "";
      this.definitions.set(`${definition.name}@${version}`, definition);
      if (definition.kind === "orchestration") continue;
      const jobs = jobOrchestration(definition);
      this.definitions.set(`${jobs.name}@${jobs.version}`, jobs);
    }
    const line = new SeverableProvider(this.store, this.started);
    if (fate === "diesInCommit") line.dieInNextCommit("before");
    const perdure = await Perdure.open(line.provider, {
      register,
      ...(this.callbacks === undefined ? {} : { callbacks: this.callbacks }),
      services: this.services,
      middleware: this.middleware,
      runtime: {
        beatMs: HOUR_MS,
        staleMs: 2 * HOUR_MS,
        stallMs: 2 * HOUR_MS,
        pollIntervalMs: HOUR_MS,
        log: (level, message, fields) => {
          this.logs.push({ level, message, instance: fields["instance"] });
        },
        ...this.#runtime,
        ...runtime,
        ...this.#modeOptions,
      },
    });
    const process = { perdure, client: perdure.client, line };
    this.#processes.push(process);
    await this.settle();
    return process;
  }

  /** Shuts a process down without grace; it releases its work. */
  async stop(process: Process = this.process): Promise<void> {
    await this.settle();
    await process.perdure.close({ graceMs: 0 });
    await this.settle();
  }

  /** A deployment: the newest process shuts down, and a process with this code replaces it. */
  async deploy(register: Definitions = this.#register): Promise<Process> {
    await this.stop();
    return this.boot(register);
  }

  /** The process dies without releasing its leases. They remain until another runtime declares it stale. */
  crash(process: Process = this.process): void {
    process.line.sever();
  }

  /** A crash, then a new process that has taken over the leases. */
  async crashAndRecover(register?: Definitions): Promise<Process> {
    await this.settle();
    this.crash();
    const next = await this.boot(register);
    await this.advance(4 * HOUR_MS);
    return next;
  }

  /** Closes the store and opens it again, with a new process on it. */
  async reopen(register?: Definitions): Promise<Process> {
    if (!this.#reopens) throw new Error('only a scenario with store: "file" reopens');
    await this.stop();
    await this.store.close();
    await this.#openStore();
    return this.boot(register);
  }

  async close(): Promise<void> {
    for (const process of this.#processes) {
      if (!process.line.isSevered) await process.perdure.close({ graceMs: 0 });
    }
    await this.#store?.close();
    await this.#place?.remove();
  }

  async #openStore(): Promise<void> {
    if (this.#place === null) throw new Error("the world was not opened");
    this.#store = await this.#place.open(this.environment);
  }
}
