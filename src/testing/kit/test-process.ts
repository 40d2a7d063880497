// One process of a test environment: a runtime and a client whose connection to the store can crash.
//   - test-process.1: After a crash the process is declared dead at once, without missed heartbeats, so the
//        store frees its leases.
//   - test-process.2: Heartbeats and polls are rare. Each of them is a stop when virtual time moves, and no
//        behavior under test depends on them.

import { Signer } from "../../client/callbacks/signer.ts";
import { Client } from "../../client/client.ts";
import { carryOutRepair } from "../../client/repair/carry-out.ts";
import { Committer } from "../../core/commit/committer.ts";
import type { SomeServices } from "../../core/context/app-types.ts";
import type { Middleware } from "../../core/middleware/middleware.ts";
import type { CallbackSettings } from "../../core/define/callback.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { defined } from "../../core/values/defined.ts";
import type { RuntimeOptions } from "../../runtime/options.ts";
import type { Definition } from "../../core/define/registrable.ts";
import { Runtime } from "../../runtime/runtime.ts";
import { TEST_CALLBACKS } from "./test-environment-options.ts";
import { FaultInjectingProvider, type FaultObserver } from "../faults/fault-injecting-provider.ts";
import type { FaultPlan } from "../faults/fault-plan.ts";

const HOUR_MS = 3_600_000;
/** test-process.2. `stallMs` must be longer than `beatMs`. */
const RARELY: RuntimeOptions = {
  beatMs: HOUR_MS,
  pollIntervalMs: HOUR_MS,
  staleMs: 3 * HOUR_MS,
  stallMs: 3 * HOUR_MS,
};

export interface TestProcessOptions {
  readonly store: Provider;
  readonly register: readonly Definition[];
  readonly runtime: RuntimeOptions;
  readonly callbacks: CallbackSettings | undefined;
  readonly services: SomeServices | undefined;
  readonly middleware: readonly Middleware[] | undefined;
  readonly plan: FaultPlan;
  readonly observer: FaultObserver;
}

export class TestProcess {
  readonly connection: FaultInjectingProvider;
  readonly client: Client;
  readonly runtime: Runtime;
  readonly #store: Provider;
  #stopped = false;

  constructor(options: TestProcessOptions) {
    const { store, register, runtime, callbacks = TEST_CALLBACKS, plan, observer } = options;
    const { services, middleware } = options;
    this.#store = store;
    this.connection = new FaultInjectingProvider(store, plan, observer);
    const { codec, limits, keepFor } = runtime;
    const { provider } = this.connection;
    const shared = { callbacks, ...defined({ middleware }) };
    this.client = new Client(provider, { ...defined({ codec, limits, keepFor }), ...shared });
    this.runtime = new Runtime(
      provider,
      {
        ...{ ...RARELY, ...runtime, executor: "process", register },
        ...{ ...shared, ...defined({ services }) },
      },
      {
        carryOutRepair,
        makeSigner: (given, settings) => new Signer(given, settings),
        makeClient: (given, options) => new Client(given, options),
        threadEntry: new URL("data:text/javascript,"), // nothing runs in threads here (activity-mocks.1)
      },
    );
  }

  get isAlive(): boolean {
    return !this.#stopped && !this.connection.isCrashed;
  }

  /** Resolves when the runtime has started, or the process has crashed. */
  async start(): Promise<void> {
    await Promise.race([this.runtime.start(), this.connection.crashed]);
  }

  /** Shuts the runtime down without a grace period; the runtime releases the work that it was running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.race([this.runtime.shutdown({ graceMs: 0 }), this.connection.crashed]);
  }

  /** After a crash: declares the runtime dead in the store (test-process.1). */
  async expire(): Promise<void> {
    await this.#store.expireRuntime({ id: this.runtime.id, staleMs: null });
  }

  /** Cleans up what a stopped or crashed process left in this host: guards, listeners, timers. */
  async bury(): Promise<void> {
    this.connection.bury();
    Committer.of(this.connection.provider).close();
    await this.runtime.shutdown({ graceMs: 0 });
  }
}
