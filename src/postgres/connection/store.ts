// Store: opens, checks and closes the connection pool of a provider.
//   - A database that is not a Perdure store, too old or not durable enough raises an error before the
//       first write (P1).
//   - store.1: The caller closes a pool that the caller has passed. The connection for LISTEN is borrowed
//       from that pool, unless the option `listen` has an address.
//   - store.2: `pg` is loaded when a store is opened, so that a missing package raises an error that says
//       how to install it.
//   - store.3: Functions of `ctx.tx` run on a separate pool, opened for the first of them. On a caller's
//       pool they may use half of the connections.

import type pg from "pg";
import { PerdureError } from "../../core/errors/errors.ts";
import { toOpenError } from "./errors.ts";
import type { Dialing } from "./address.ts";
import { clientClass, dialMs } from "./dial.ts";
import { locationOf, type Location } from "./location.ts";
import { migrate } from "../migrations.ts";
import type { PostgresOptions } from "../options.ts";
import type { StepConnections } from "../transactions/step-transactions.ts";
import {
  checkWritable,
  chooseCommit,
  SHOW_SETTINGS,
  timeoutsOf,
  type Timeout,
} from "./settings.ts";
import { isShared } from "./sharing.ts";

type Optional = "environment" | "prepare" | "answerMs" | "listen";
interface StoreOptions
  extends Required<Omit<PostgresOptions, Optional>>, Pick<PostgresOptions, "listen"> {
  /** The schema's name, plain; `schema` is the same name quoted for statements. */
  readonly name: string;
}

/** The configuration of further connections, also of those in other threads. */
export interface Connecting {
  readonly config: pg.ClientConfig;
  readonly dialing: Dialing;
}

/** What the server said when the store was opened. */
interface Facts {
  /** The value of synchronous_commit for every write. */
  readonly commit: string;
  /** The server is a standby: it accepts neither writes nor LISTEN. */
  readonly isStandby: boolean;
  /** A pooler shares the connections between transactions (sharing.ts). */
  readonly isShared: boolean;
  /** settings.2 */
  readonly timeouts: readonly Timeout[];
}

const CONNECT_MS = 10_000;
const ignore = (): void => {};

export class Store {
  readonly pool: pg.Pool;
  readonly facts: Facts;
  /** Null for a caller's pool, which alone knows how to connect. */
  readonly connecting: Connecting | null;
  /** Whether the connection for LISTEN has a separate address. */
  readonly listensDirectly: boolean;
  /** store.3 */
  readonly forSteps: StepConnections;
  readonly #driver: typeof pg;
  /** Null: the connection for LISTEN is borrowed from the caller's pool. */
  readonly #listening: Connecting | null;
  #stepPool: pg.Pool | null = null;

  /** Opens the store on a caller's pool, or where an address or a configuration says. */
  static async open(target: pg.Pool | Location, options: StoreOptions): Promise<Store> {
    const driver = await loadDriver();
    const own = "config" in target ? connectingTo(target) : null;
    const Client = own === null ? driver.Client : clientClass(driver, own.dialing);
    const pool =
      "config" in target
        ? new driver.Pool({ max: options.poolSize, ...own?.config, Client })
        : target;
    ignoreErrors(pool);
    try {
      if (own === null) checkPool(pool, options);
      return await Store.#check(pool, own, options, { driver, Client });
    } catch (error) {
      if (own === null) stopIgnoringErrors(pool);
      else await pool.end().catch(ignore);
      throw toOpenError(error);
    }
  }

  static async #check(
    pool: pg.Pool,
    connecting: Connecting | null,
    options: StoreOptions,
    classes: { readonly driver: typeof pg; readonly Client: typeof pg.Client },
  ): Promise<Store> {
    const client = await pool.connect();
    client.on("error", ignore);
    let broken: boolean = true;
    try {
      const { rows } = await client.query<Record<string, string>>(SHOW_SETTINGS);
      const facts: Facts = {
        commit: chooseCommit(rows, options.durability),
        isStandby: checkWritable(rows, options.readOnly),
        isShared: options.notifications && (await isShared(pool, client, Number(rows[0]?.["pid"]))),
        timeouts: timeoutsOf(rows),
      };
      await migrate(client, options);
      broken = false;
      return new Store({ pool, facts, connecting, ...classes, options });
    } finally {
      client.off("error", ignore);
      client.release(broken);
    }
  }

  private constructor(parts: {
    readonly pool: pg.Pool;
    readonly facts: Facts;
    readonly connecting: Connecting | null;
    readonly driver: typeof pg;
    readonly Client: typeof pg.Client;
    readonly options: StoreOptions;
  }) {
    const { pool, connecting, driver, Client, options } = parts;
    this.pool = pool;
    this.facts = parts.facts;
    this.connecting = connecting;
    this.#driver = driver;
    const { listen } = options;
    this.listensDirectly = listen !== undefined;
    this.#listening = listen === undefined ? connecting : connectingTo(locationOf(listen));
    const max = options.transactionPoolSize;
    if (connecting === null) {
      const half = Math.floor((pool.options.max - (borrowsListener(options) ? 1 : 0)) / 2);
      this.forSteps = { count: Math.max(1, Math.min(max, half)), connect: () => pool.connect() };
      return;
    }
    const make = (): pg.Pool => {
      const made = new driver.Pool({
        ...connecting.config,
        max,
        application_name: "perdure transactions",
        Client,
      });
      ignoreErrors(made);
      return made;
    };
    this.forSteps = { count: max, connect: () => (this.#stepPool ??= make()).connect() };
  }

  /** Opens the connection for LISTEN. */
  readonly connect = async (): Promise<pg.Client> => {
    if (this.#listening === null) return this.pool.connect();
    const { config, dialing } = this.#listening;
    const Client = clientClass(this.#driver, dialing);
    const client = new Client({ ...config, application_name: "perdure listener" });
    client.on("error", ignore);
    await client.connect();
    unref(client);
    return client;
  };

  readonly disconnect = (client: pg.Client): void => {
    if ("release" in client && typeof client.release === "function") client.release(true);
    else void client.end().catch(ignore);
  };

  /** store.1. Waits at most CONNECT_MS for calls that still use a connection. */
  async close(): Promise<void> {
    if (this.connecting === null) {
      stopIgnoringErrors(this.pool);
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CONNECT_MS);
      timer.unref();
    });
    const pools = this.#stepPool === null ? [this.pool] : [this.pool, this.#stepPool];
    const ends = pools.map((pool) => pool.end().catch(ignore));
    await Promise.race([Promise.all(ends), late]);
    clearTimeout(timer);
  }
}

function connectingTo({ config, dialing }: Location): Connecting {
  const defaults = {
    application_name: "perdure",
    connectionTimeoutMillis: dialMs(dialing, CONNECT_MS),
    keepAlive: true,
  };
  return { config: { ...defaults, ...config }, dialing };
}

/**
 * Ignores the "error" events of connections: a broken connection is replaced when the next caller needs
 * one. A new connection may break after the pool has removed its listener and before the caller has added
 * another one.
 */
function ignoreErrors(pool: pg.Pool): void {
  pool.on("error", ignore);
  pool.on("connect", ignoreClientErrors);
}
function stopIgnoringErrors(pool: pg.Pool): void {
  pool.off("error", ignore);
  pool.off("connect", ignoreClientErrors);
}
function ignoreClientErrors(client: pg.PoolClient): void {
  client.on("error", ignore);
}

/** store.2 */
async function loadDriver(): Promise<typeof pg> {
  try {
    return (await import("pg")).default;
  } catch (error) {
    const isMissing =
      error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    if (!isMissing) throw error;
    const message = "A PostgreSQL store needs the package pg. Run: npm install pg";
    throw new PerdureError("INVALID_ARGUMENT", message, { cause: error });
  }
}

/** Throws if a caller's pool cannot be used. */
function checkPool({ options: pool }: pg.Pool, options: StoreOptions): void {
  let why: string | null = null;
  // Perdure pipelines its own statements; a client that pipelines calls would separate them.
  if (pool.pipeline === true) why = "must not have the option `pipeline`";
  if (borrowsListener(options) && pool.max < 2)
    why = `must allow at least 2 connections, because one is used to listen; got ${pool.max}`;
  if (why === null) return;
  throw new PerdureError("INVALID_ARGUMENT", `The pool ${why}. Give Perdure another pool.`);
}

/** Whether the connection for LISTEN would be one of a caller's pool. */
function borrowsListener({ notifications, listen }: StoreOptions): boolean {
  return notifications && listen === undefined;
}

function unref(client: pg.Client): void {
  const { stream } = client.connection;
  if ("unref" in stream && typeof stream.unref === "function") stream.unref();
}
