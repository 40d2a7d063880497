// One process of a test environment: a runtime and a client on a line to the store that can be cut.
//   TP1. A dead process is found dead at once, without waiting for its beats to be missed: what it held is freed.
//   TP2. Beats and polls are rare: each is a stop on the way through virtual time, and nothing else waits for them.

import { Client } from "../../client/client.ts";
import { Committer } from "../../core/committer.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { RuntimeOptions } from "../../runtime/options.ts";
import type { Definition } from "../../core/registrable.ts";
import { Runtime } from "../../runtime/runtime.ts";
import { FaultInjectingProvider, type FaultObserver } from "../faults/fault-injecting-provider.ts";
import type { FaultPlan } from "../faults/fault-plan.ts";

const HOUR_MS = 3_600_000;
/** TP2. The patience with a main loop that stands still must be longer than its period. */
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
  readonly plan: FaultPlan;
  readonly observer: FaultObserver;
}

export class TestProcess {
  readonly line: FaultInjectingProvider;
  readonly client: Client;
  readonly runtime: Runtime;
  readonly #store: Provider;
  #stopped = false;

  constructor({ store, register, runtime, plan, observer }: TestProcessOptions) {
    this.#store = store;
    this.line = new FaultInjectingProvider(store, plan, observer);
    const { codec, limits } = runtime;
    const { provider } = this.line;
    this.client = new Client(provider, {
      ...(codec === undefined ? {} : { codec }),
      ...(limits === undefined ? {} : { limits }),
    });
    this.runtime = new Runtime(
      provider,
      { ...RARELY, ...runtime, executor: "process", register },
      {
        makeClient: (given, options) => new Client(given, options),
        threadEntry: new URL("data:text/javascript,"), // nothing runs in threads here (AM4)
      },
    );
  }

  get isAlive(): boolean {
    return !this.#stopped && !this.line.isCrashed;
  }

  /** Resolves when it works, or has died on the way. */
  async start(): Promise<void> {
    await Promise.race([this.runtime.start(), this.line.crashed]);
  }

  /** Ends in good order, at once; what ran in it is handed back. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.race([this.runtime.shutdown({ graceMs: 0 }), this.line.crashed]);
  }

  /** After its death: tells the store (TP1). */
  async expire(): Promise<void> {
    await this.#store.expireRuntime({ id: this.runtime.id, staleMs: null });
  }

  /** Takes down what is left of it in this host: guards, listeners, timers. */
  async bury(): Promise<void> {
    this.line.bury();
    Committer.of(this.line.provider).close();
    await this.runtime.shutdown({ graceMs: 0 });
  }
}
