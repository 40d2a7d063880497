// Perdure: a store, a runtime and a client, opened together and closed together; and the settings of a project, with which
// the command line opens them.

import { Client } from "./client/client.ts";
import { Committer } from "./core/commit/committer.ts";
import { PerdureError } from "./core/errors/errors.ts";
import type { CallbackSettings } from "./core/define/callback.ts";
import type { ServiceValues } from "./core/context/app-types.ts";
import type { Middleware } from "./core/middleware/middleware.ts";
import { checkFlag, checkMembers, type Members } from "./core/checks.ts";
import type { Provider } from "./core/provider/provider.ts";
import { defined } from "./core/values/defined.ts";
import { maskAddress } from "./core/values/secrets.ts";
import type { DriveOptions, DriveResult } from "./core/define/drive.ts";
import type { RuntimeOptions } from "./runtime/options.ts";
import type { Registrable } from "./core/define/registrable.ts";
import { Runtime } from "./wired-runtime.ts";

/** Options of `Perdure.open`. */
export interface OpenOptions {
  /** Activities and orchestrations that this process runs, and modules that export them. */
  readonly register?: readonly Registrable[];
  readonly runtime?: RuntimeOptions;
  /** Whether the runtime starts at once. Default true. False: for a client alone, or for `drive`. */
  readonly autoStart?: boolean;
  /** The secrets and the address of callbacks: `ctx.callback`, `completeLater` and `client.complete` need them. */
  readonly callbacks?: CallbackSettings;
  /** The services of activities and steps: `ctx.services`. */
  readonly services?: ServiceValues;
  /** Functions around starts, events, requests, activities and steps. The first one is the outermost. */
  readonly middleware?: readonly Middleware[];
}

const OPEN_OPTIONS: Members<OpenOptions> = {
  register: true,
  runtime: true,
  autoStart: true,
  callbacks: true,
  services: true,
  middleware: true,
};

/** A store, a runtime and a client, opened together and closed together. */
export class Perdure implements AsyncDisposable {
  readonly provider: Provider;
  readonly runtime: Runtime;
  readonly client: Client;
  readonly #ownsProvider: boolean;

  private constructor(provider: Provider, options: OpenOptions, ownsProvider: boolean) {
    this.provider = provider;
    this.#ownsProvider = ownsProvider;
    const { codec, limits, telemetry, keepFor } = options.runtime ?? {};
    const { register = [], callbacks, services, middleware } = options;
    const shared = { ...defined({ callbacks, middleware }) };
    this.client = new Client(provider, {
      ...defined({ codec, limits, telemetry, keepFor }),
      ...shared,
    });
    const start = { ...options.runtime, register, ...shared, ...defined({ services }) };
    this.runtime = new Runtime(provider, start);
  }

  /**
   * Opens a store by its address (`sqlite:./orders.db`, `postgres://host/database`), or uses an open
   * store.
   */
  static async open(store: string | Provider, options: OpenOptions = {}): Promise<Perdure> {
    checkMembers(options, OPEN_OPTIONS, "Perdure.open");
    checkFlag(options.autoStart, "autoStart");
    const provider = typeof store === "string" ? await openStore(store) : store;
    const owns = typeof store === "string";
    try {
      const perdure = new Perdure(provider, options, owns);
      if (options.autoStart !== false) await perdure.runtime.start();
      return perdure;
    } catch (error) {
      if (owns) await provider.close();
      throw error;
    }
  }

  /**
   * Works off what is due, then returns, and leaves no lease behind: for a process that does not run all the time, such as a
   * serverless function. Needs `autoStart: false`. One drive runs at a time (`DRIVE_RUNNING`).
   */
  drive(options: DriveOptions = {}): Promise<DriveResult> {
    return this.runtime.drive(options);
  }

  /** Shuts the runtime down and, if it was opened here, closes the store. */
  async close(options: { readonly graceMs?: number } = {}): Promise<void> {
    await this.runtime.shutdown(options);
    if (!this.#ownsProvider) return;
    await closeStore(this.provider);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The settings of a project, as `perdure.config.ts` exports them. */
export interface PerdureConfig {
  /**
   * The store: an address such as `sqlite:./orders.db`, relative to the config file, or a function that
   * opens a store. The command line closes the store that it opened.
   */
  readonly store?: string | (() => Provider | Promise<Provider>);
  /**
   * What `perdure worker` and `perdure dev` run, and what `perdure check` replays with: definitions, and
   * modules that export definitions.
   */
  readonly register?: readonly Registrable[];
  readonly runtime?: RuntimeOptions;
  /** The secrets and the address of callbacks, as for `Perdure.open`. */
  readonly callbacks?: CallbackSettings;
  /** The services of activities and steps, as for `Perdure.open`. */
  readonly services?: ServiceValues;
  /** The middleware of the worker, as for `Perdure.open`. Commands such as `perdure start` pass none. */
  readonly middleware?: readonly Middleware[];
}

/** Adds types to a config and returns it unchanged. */
export function defineConfig(config: PerdureConfig): PerdureConfig {
  return config;
}

/** Opens the store of an address. */
export async function openStore(address: string): Promise<Provider> {
  if (address.startsWith("sqlite:")) {
    const { SqliteProvider } = await import("./sqlite/index.ts");
    return SqliteProvider.open(address.slice("sqlite:".length));
  }
  if (/^postgres(ql)?:/.test(address)) {
    const { PostgresProvider } = await import("./postgres/index.ts");
    return PostgresProvider.open(address);
  }
  const known = "an address must begin with sqlite: or postgres://, such as sqlite:./orders.db";
  const message = `Cannot open "${maskAddress(address)}": ${known}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** Closes a store whose runtimes have been shut down. */
export async function closeStore(provider: Provider): Promise<void> {
  Committer.of(provider).close();
  await provider.close();
}
