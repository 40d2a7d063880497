// A runtime and a client in one process, on virtual time, with a record of every commit: the stage of the tests of
// first turns (first-turns.1). Virtual time passes only in `advance`, so no wait ends by a timer of the client.

import { onTestFinished } from "vitest";
import {
  Client,
  Runtime,
  type PerdureError,
  type Provider,
  type RuntimeOptions,
} from "../../src/index.ts";
import type { CommitItem, StartItem } from "../../src/core/provider/index.ts";
import { SeverableProvider } from "../scenarios/support/severable-provider.ts";
import { StoreEnvironment } from "../support/store-environment.ts";
import { freshStore } from "../support/test-store.ts";

export type Register = ConstructorParameters<typeof Runtime>[1]["register"];

/** Rare polls and heartbeats: a lost wake-up shows as a standstill, not as a delay. */
const RARE_POLLS: RuntimeOptions = { pollIntervalMs: 3_600_000, beatMs: 15_000 };

export class Stage {
  readonly environment: StoreEnvironment;
  /** The items of each call of `commit`, in order. */
  readonly commits: (readonly CommitItem[])[] = [];
  /** How often an instance was read. */
  reads = 0;
  /** Called before the store gets the items of a commit. */
  onCommit: (items: readonly CommitItem[]) => void = () => undefined;
  /** Set: the store answers every start with this error, as for an item that it can never write. */
  startError: PerdureError | null = null;
  readonly logs: string[] = [];
  readonly store: Provider;
  /** The connection of the process to the store, which can fail. */
  readonly line: SeverableProvider;
  readonly client: Client;

  #runtime: Runtime | null = null;

  static async open(register: Register, options: RuntimeOptions = {}): Promise<Stage> {
    const environment = new StoreEnvironment();
    const stage = new Stage(environment, await freshStore(environment));
    stage.#runtime = await stage.startRuntime(stage.line.provider, register, options);
    return stage;
  }

  private constructor(environment: StoreEnvironment, store: Provider) {
    this.environment = environment;
    this.store = store;
    this.line = new SeverableProvider(this.#recorded(store), new Set());
    this.client = new Client(this.line.provider);
  }

  get runtime(): Runtime {
    if (this.#runtime === null) throw new Error("the runtime is not started yet");
    return this.#runtime;
  }

  /** Another runtime on the provider. */
  async startRuntime(
    provider: Provider,
    register: Register,
    options: RuntimeOptions = {},
  ): Promise<Runtime> {
    const log = (_: unknown, message: string): void => void this.logs.push(message);
    const runtime = new Runtime(provider, {
      ...{ ...RARE_POLLS, log, shadowReplay: "never" },
      ...options,
      register,
    });
    onTestFinished(async () => {
      const isDead = provider === this.line.provider && this.line.isSevered;
      if (!isDead) await runtime.shutdown({ graceMs: 0 });
    });
    await runtime.start();
    return runtime;
  }

  /** Waits for the first instance of a name. From then on its code may run early (first-turns.1). */
  async hasRun(start: Promise<unknown>): Promise<void> {
    await start;
    await this.environment.settle();
  }

  /** The starts of this instance that were submitted. */
  startsOf(id: string): StartItem[] {
    return this.commits
      .flat()
      .flatMap((item) => (item.kind === "start" && item.id === id ? [item] : []));
  }

  #recorded(store: Provider): Provider {
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...given: unknown[]): unknown => {
          if (name === "readInstance") this.reads++;
          if (name === "commit") {
            const items = given[0] as readonly CommitItem[];
            this.commits.push(items);
            this.onCommit(items);
            const error = this.startError;
            if (error !== null && items.every(({ kind }) => kind === "start"))
              return Promise.resolve(items.map(() => ({ kind: "error", error })));
          }
          return Reflect.apply(member, target, given);
        };
      },
    });
  }
}
