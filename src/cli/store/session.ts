// A session: the open store of a command, a client for it, and the config.
//   - Disposing of the session closes everything that it opened.
//   - A command that only reads neither creates a store nor changes its schema; `worker`, `dev` and
//        `migrate` do that. It also works on a PostgreSQL standby, which allows neither writes nor LISTEN.

import type { Client } from "../../client/client.ts";
import { defaultCodec, type Codec } from "../../core/values/codec.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { defined } from "../../core/values/defined.ts";
import { Perdure, type PerdureConfig } from "../../perdure.ts";
import { findConfig, loadConfig, type LoadedConfig } from "./config-file.ts";
import type { Call } from "../define-command.ts";
import { CliError } from "../exit-codes.ts";
import { openProvider, type Access } from "./open-provider.ts";
import { chooseStore, assertStoreExists, showSource, type StoreSource } from "./store-address.ts";

export interface SessionOptions {
  /** The address, if it was passed as an argument. */
  readonly given?: string | undefined;
  /** Whether to create a missing store and to update an old schema. Default false. */
  readonly create?: boolean;
  /** How the command uses the store. Default "write". */
  readonly access?: Access;
}

export class Session implements AsyncDisposable {
  readonly client: Client;
  readonly provider: Provider;
  readonly codec: Codec;
  readonly config: LoadedConfig | undefined;
  /** The address of the store without its password. */
  readonly shown: string;
  readonly #close: () => Promise<void>;

  private constructor(opened: OpenedStore, config: LoadedConfig | undefined, shown: string) {
    this.client = opened.perdure.client;
    this.provider = opened.perdure.provider;
    this.#close = opened.close;
    this.codec = config?.config.runtime?.codec ?? defaultCodec;
    this.config = config;
    this.shown = shown;
  }

  static async open(call: Call<unknown>, options: SessionOptions = {}): Promise<Session> {
    const config = await configOf(call);
    const source = sourceOf(call, config, options.given);
    if (source.kind === "address" && options.create !== true) assertStoreExists(source.address);
    const migrate = options.create === true ? "apply" : "verify";
    const provider = await openProvider(source, migrate, options.access);
    const opened = await openClient(provider, config?.config ?? {});
    return new Session(opened, config, showSource(source));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/** The config of --config, or the nearest one. Undefined: there is none, or --no-config was given. */
export async function configOf({ cli, options }: Call<unknown>): Promise<LoadedConfig | undefined> {
  if (options.config === false) return undefined;
  const path = options.config ?? findConfig(cli.cwd);
  return path === undefined ? undefined : loadConfig(path);
}

/** For commands that run or replay code: only a config registers code. */
export async function neededConfig(call: Call<unknown>): Promise<LoadedConfig> {
  const config = await configOf(call);
  if (config !== undefined) return config;
  const message = `There is no perdure.config.ts in ${call.cli.cwd} or above it. Create one with: perdure init`;
  throw new CliError("CONFIG_INVALID", message);
}

export function sourceOf(
  { cli, options }: Call<unknown>,
  config: LoadedConfig | undefined,
  given: string | undefined,
): StoreSource {
  if (given !== undefined && options.store !== undefined && given !== options.store) {
    throw new CliError("USAGE", "Pass the store either as an argument or with --store, not both.");
  }
  return chooseStore({ given: options.store ?? given, env: cli.env, config });
}

interface OpenedStore {
  readonly perdure: Perdure;
  readonly close: () => Promise<void>;
}

/**
 * Opens Perdure without starting its runtime. A client needs only the callbacks, and codec, limits and keepFor of the
 * runtime options.
 */
async function openClient(provider: Provider, config: PerdureConfig): Promise<OpenedStore> {
  const { runtime: { codec, limits, keepFor } = {}, callbacks } = config;
  const perdure = await Perdure.open(provider, {
    autoStart: false,
    runtime: defined({ codec, limits, keepFor }),
    ...defined({ callbacks }),
  });
  const close = async (): Promise<void> => {
    await perdure.close();
    await provider.close();
  };
  return { perdure, close };
}
