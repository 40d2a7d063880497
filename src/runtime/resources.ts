// Resources: what every part of a runtime uses: the store, the committer, the options, the registered
// definitions, the clocks and the counters.

import { Committer } from "../core/commit/committer.ts";
import type { ServiceValues } from "../core/context/app-types.ts";
import { openServices, SERVICES_OF_PROCESS } from "../core/context/services.ts";
import type { CallbackSettings, CallbackSigner } from "../core/define/callback.ts";
import { guardsOf, type GuardName } from "../core/define/guard-names.ts";
import type { RegisteredWork } from "../core/define/work-matching.ts";
import { REPLAY_VERSIONS } from "../core/history/replay-version.ts";
import { layersOf, type Layers, type Middleware } from "../core/middleware/middleware.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { LogSink } from "../core/telemetry/log.ts";
import type { Environment } from "../core/time/environment.ts";
import { TimerWheel } from "../core/time/timer-wheel.ts";
import { unguarded } from "./guards/guarded-run.ts";
import { LoopSlice } from "./health/loop-slice.ts";
import { RuntimeStats } from "./health/stats.ts";
import { resolveOptions, withEndingLeases, type ResolvedOptions } from "./options.ts";
import { Registry } from "./registry.ts";
import type { RunOptions } from "./replay/make-run.ts";
import { repairCode, type RepairAnswer, type RepairCall } from "../core/repair/repair-calls.ts";
import type { RuntimeStart, RuntimeWiring } from "./wiring.ts";

export class RuntimeResources {
  readonly id: string;
  /** Whether the runtime works off what is due and then stops (drive.ts). */
  readonly isDrive: boolean;
  readonly provider: Provider;
  readonly environment: Environment;
  readonly committer: Committer;
  readonly options: ResolvedOptions;
  readonly log: LogSink;
  readonly registry: Registry;
  /** What other runtimes must know to see which work this one takes. */
  readonly registered: RegisteredWork;
  readonly guards: ReadonlySet<GuardName>;
  /** Options of every run. */
  readonly runOptions: RunOptions;
  readonly wiring: RuntimeWiring;
  /** The settings of callbacks, for the clients of activities. */
  readonly callbacks: { readonly callbacks?: CallbackSettings };
  /** `ctx.services` of activities and steps. */
  readonly services: ServiceValues;
  readonly middleware: readonly Middleware[];
  /** Decided once, so that a call without middleware costs nothing. */
  readonly layers: Layers;
  /** Null: without settings of callbacks. */
  readonly signer: CallbackSigner | null;
  readonly wheel: TimerWheel;
  /** Shared by all user code of the runtime. */
  readonly slice: LoopSlice;
  readonly stats = new RuntimeStats();
  /** Set by lifecycle.ts. */
  state: "new" | "running" | "stopping" | "stopped" = "new";

  /** `driver`: the id of the runtime that drives. All its drives have this id. */
  constructor(
    provider: Provider,
    start: RuntimeStart,
    wiring: RuntimeWiring,
    driver: string | null = null,
  ) {
    const { register, callbacks, services, middleware = [], ...given } = start;
    const isDevelopment = process.env["NODE_ENV"] !== "production";
    this.provider = provider;
    this.environment = provider.environment;
    this.committer = Committer.of(provider);
    this.isDrive = driver !== null;
    this.options = resolveOptions(this.isDrive ? withEndingLeases(given) : given, isDevelopment);
    this.registry = new Registry(register, this.options);
    this.guards = guardsOf(this.options.guards, isDevelopment);
    this.id = driver ?? this.environment.randomHex(8);
    this.wiring = wiring;
    this.services = openServices(services, SERVICES_OF_PROCESS);
    this.middleware = middleware;
    this.layers = layersOf(middleware);
    this.callbacks = callbacks === undefined ? {} : { callbacks };
    this.signer = callbacks === undefined ? null : wiring.makeSigner(provider, callbacks);
    const { codec, limits, log, tags } = this.options;
    this.log = log;
    const listed = this.registry.list();
    this.registered = {
      ...{ ...listed, tags, replayVersions: REPLAY_VERSIONS },
      ...(this.isDrive ? {} : { takesRepairs: true }), // a drive may end before a repair does
    };
    this.registry.addOwn(repairCode(this.id, (call) => this.#repair(call)));
    this.runOptions = {
      codec: unguarded(codec),
      limits,
      guards: this.guards,
      readKeyValue: async (id, key) => (await provider.readKeyValue(id, key))?.value,
      ...(this.signer === null ? {} : { callbacks: this.signer }),
    };
    this.wheel = new TimerWheel({
      now: this.monotonic,
      setTimer: (delayMs, fn) => this.environment.setTimer(delayMs, fn),
    });
    this.slice = new LoopSlice(this.environment);
  }

  #repair(call: RepairCall): Promise<RepairAnswer> {
    const { codec, limits, telemetry, keepFor } = this.options;
    const options = { codec, limits, telemetry, keepFor, ...this.callbacks };
    return this.wiring.carryOutRepair(this.provider, options, call);
  }

  /** Whether the runtime may lease work and begin turns. */
  get isRunning(): boolean {
    return this.state === "running";
  }

  readonly monotonic = (): number => this.environment.monotonic();
  readonly storeNow = (): number => this.provider.now();
  /** A lease token, or the id of a commit. */
  readonly newToken = (): number => Math.floor(this.environment.random() * Number.MAX_SAFE_INTEGER);
}
