// Resources: what every part of a runtime uses: the store, the committer, the options, the registered
// definitions, the clocks and the counters.

import { Committer } from "../core/commit/committer.ts";
import type { CallbackSettings, CallbackSigner } from "../core/define/callback.ts";
import { guardsOf, type GuardName } from "../core/define/guard-names.ts";
import type { RegisteredWork } from "../core/define/work-matching.ts";
import { REPLAY_VERSIONS } from "../core/history/replay-version.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { LogSink } from "../core/telemetry/log.ts";
import type { Environment } from "../core/time/environment.ts";
import { TimerWheel } from "../core/time/timer-wheel.ts";
import { unguarded } from "./guards/guarded-run.ts";
import { LoopSlice } from "./health/loop-slice.ts";
import { RuntimeStats } from "./health/stats.ts";
import { resolveOptions, type ResolvedOptions } from "./options.ts";
import { Registry } from "./registry.ts";
import type { RunOptions } from "./replay/make-run.ts";
import type { RuntimeStart, RuntimeWiring } from "./wiring.ts";

export class RuntimeResources {
  readonly id: string;
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
  /** Null: without settings of callbacks. */
  readonly signer: CallbackSigner | null;
  readonly wheel: TimerWheel;
  /** Shared by all user code of the runtime. */
  readonly slice: LoopSlice;
  readonly stats = new RuntimeStats();
  /** Set by runtime.ts. */
  state: "new" | "running" | "stopping" | "stopped" = "new";

  constructor(provider: Provider, start: RuntimeStart, wiring: RuntimeWiring) {
    const { register, callbacks, ...given } = start;
    const isDevelopment = process.env["NODE_ENV"] !== "production";
    this.provider = provider;
    this.environment = provider.environment;
    this.committer = Committer.of(provider);
    this.options = resolveOptions(given, isDevelopment);
    this.registry = new Registry(register, this.options);
    this.guards = guardsOf(this.options.guards, isDevelopment);
    this.id = this.environment.randomHex(8);
    this.wiring = wiring;
    this.callbacks = callbacks === undefined ? {} : { callbacks };
    this.signer = callbacks === undefined ? null : wiring.makeSigner(provider, callbacks);
    const { codec, limits, log, tags } = this.options;
    this.log = log;
    this.registered = { ...this.registry.list(), tags, replayVersions: REPLAY_VERSIONS };
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

  /** Whether the runtime may lease work and begin turns. */
  get isRunning(): boolean {
    return this.state === "running";
  }

  readonly monotonic = (): number => this.environment.monotonic();
  readonly storeNow = (): number => this.provider.now();
  /** A lease token, or the id of a commit. */
  readonly newToken = (): number => Math.floor(this.environment.random() * Number.MAX_SAFE_INTEGER);
}
