// A session: the store that a command is about, open, with a client on it and the config beside it.
//   SE1. Whatever was opened is closed with the session.
//   SE2. A command that only looks makes no store and changes no schema: those are `worker`'s and `migrate`'s. It works
//        on a standby of PostgreSQL too, where nothing can be written and nobody can listen.

import type { Client } from "../client/client.ts";
import { defaultCodec, type Codec } from "../core/codec.ts";
import type { Provider } from "../core/provider/provider.ts";
import { Perdure } from "../perdure.ts";
import type { RuntimeOptions } from "../runtime/options.ts";
import { findConfig, loadConfig, type LoadedConfig } from "./config-file.ts";
import type { Call } from "./define-command.ts";
import { CliError } from "./exit-codes.ts";
import { openProvider, type Access } from "./open-provider.ts";
import { chooseStore, mustExist, showSource, type StoreSource } from "./store-address.ts";

export interface SessionOptions {
  /** An address that stood among the arguments. */
  readonly given?: string | undefined;
  /** Whether a missing store is made, and an old one brought up to date. Default false. */
  readonly create?: boolean;
  /** What is done with it. Default "write". */
  readonly access?: Access;
}

export class Session implements AsyncDisposable {
  readonly client: Client;
  readonly provider: Provider;
  readonly codec: Codec;
  readonly config: LoadedConfig | undefined;
  /** The store, for people. */
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
    if (source.kind === "address" && options.create !== true) mustExist(source.address);
    const migrate = options.create === true ? "apply" : "verify";
    const provider = await openProvider(source, migrate, options.access);
    const opened = await openClient(provider, config?.config.runtime ?? {});
    return new Session(opened, config, showSource(source));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/** The config that is named or found; undefined where there is none, or none is wanted. */
export async function configOf({ cli, options }: Call<unknown>): Promise<LoadedConfig | undefined> {
  if (options.config === false) return undefined;
  const path = options.config ?? findConfig(cli.cwd);
  return path === undefined ? undefined : loadConfig(path);
}

/** For commands that run or replay code: without a config there is none. */
export async function neededConfig(call: Call<unknown>): Promise<LoadedConfig> {
  const config = await configOf(call);
  if (config !== undefined) return config;
  const message = `There is no perdure.config.ts in ${call.cli.cwd} or above it. "perdure init" makes one.`;
  throw new CliError("CONFIG_INVALID", message);
}

export function sourceOf(
  { cli, options }: Call<unknown>,
  config: LoadedConfig | undefined,
  given: string | undefined,
): StoreSource {
  if (given !== undefined && options.store !== undefined && given !== options.store) {
    throw new CliError("USAGE", "The store is given twice: as an argument and with --store.");
  }
  return chooseStore({ given: options.store ?? given, env: cli.env, config });
}

interface OpenedStore {
  readonly perdure: Perdure;
  readonly close: () => Promise<void>;
}

/** Runs nothing: codec and limits are what a client needs of the runtime's options. */
async function openClient(provider: Provider, runtime: RuntimeOptions): Promise<OpenedStore> {
  const { codec, limits } = runtime;
  const perdure = await Perdure.open(provider, {
    autoStart: false,
    runtime: {
      ...(codec === undefined ? {} : { codec }),
      ...(limits === undefined ? {} : { limits }),
    },
  });
  const close = async (): Promise<void> => {
    await perdure.close();
    await provider.close();
  };
  return { perdure, close };
}
