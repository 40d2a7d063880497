// Store: the pool behind a provider, opened, checked and closed.
//   S1. What is not ours, too old or not durable enough is refused before the first write (P1).
//   S2. A pool of the user's own is his to close; a connection to listen on is borrowed from it.
//   S3. `pg` is loaded when a store is opened, so that who has none is told how to get it.
//   S4. Users' functions run on a pool of their own, made for the first of them; on a user's pool they get half of it.

import type pg from "pg";
import { PerdureError } from "../core/errors.ts";
import { toOpenError } from "./errors.ts";
import type { Dialing } from "./address.ts";
import { clientClass, dialMs } from "./dial.ts";
import type { Location } from "./location.ts";
import { migrate, type Migrate } from "./migrations.ts";
import type { StepConnections } from "./step-transactions.ts";
import { checkWritable, chooseCommit, SHOW_SETTINGS, type Durability } from "./settings.ts";

export interface StoreOptions {
  /** The schema's name, and the same as it stands in statements. */
  readonly name: string;
  readonly schema: string;
  readonly migrate: Migrate;
  readonly durability: Durability;
  readonly poolSize: number;
  /** Connections for users' functions (step-transactions.ts). */
  readonly transactionPoolSize: number;
  readonly notifications: boolean;
  readonly readOnly: boolean;
}

/** What further connections are made from, by other threads too. */
export interface Connecting {
  readonly config: pg.ClientConfig;
  readonly dialing: Dialing;
}

const CONNECT_MS = 10_000;
const ignore = (): void => {};

export class Store {
  readonly pool: pg.Pool;
  /** What the value of synchronous_commit is to be. */
  readonly commit: string;
  /** Null: only the user's pool knows. */
  readonly connecting: Connecting | null;
  /** It follows another server: nothing can be written, and there is nothing to listen to. */
  readonly isStandby: boolean;
  /** S4 */
  readonly forSteps: StepConnections;
  readonly #Client: typeof pg.Client;
  #stepPool: pg.Pool | null = null;

  /** On a user's pool, or where an address or a configuration says. */
  static async open(target: pg.Pool | Location, options: StoreOptions): Promise<Store> {
    const driver = await loadDriver();
    const own = "config" in target ? connectingTo(target) : null;
    const Client = own === null ? driver.Client : clientClass(driver, own.dialing);
    const pool =
      "config" in target
        ? new driver.Pool({ max: options.poolSize, ...own?.config, Client })
        : target;
    hush(pool);
    try {
      if (own === null) refuseUnfit(pool, options);
      return await Store.#check(pool, own, options, { driver, Client });
    } catch (error) {
      if (own === null) unhush(pool);
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
      const commit = chooseCommit(rows, options.durability);
      const isStandby = checkWritable(rows, options.readOnly);
      await migrate(client, { ...options, how: options.migrate });
      broken = false;
      return new Store({ pool, commit, isStandby, connecting, ...classes, options });
    } finally {
      client.off("error", ignore);
      client.release(broken);
    }
  }

  private constructor(parts: {
    readonly pool: pg.Pool;
    readonly commit: string;
    readonly isStandby: boolean;
    readonly connecting: Connecting | null;
    readonly driver: typeof pg;
    readonly Client: typeof pg.Client;
    readonly options: StoreOptions;
  }) {
    const { pool, connecting, driver, Client, options } = parts;
    this.pool = pool;
    this.commit = parts.commit;
    this.isStandby = parts.isStandby;
    this.connecting = connecting;
    this.#Client = Client;
    const max = options.transactionPoolSize;
    if (connecting === null) {
      const half = Math.floor((pool.options.max - (options.notifications ? 1 : 0)) / 2);
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
      hush(made);
      return made;
    };
    this.forSteps = { count: max, connect: () => (this.#stepPool ??= make()).connect() };
  }

  /** A connection to listen on. */
  readonly connect = async (): Promise<pg.Client> => {
    if (this.connecting === null) return this.pool.connect();
    const { config } = this.connecting;
    const client = new this.#Client({ ...config, application_name: "perdure listener" });
    client.on("error", ignore);
    await client.connect();
    unref(client);
    return client;
  };

  readonly disconnect = (client: pg.Client): void => {
    if ("release" in client && typeof client.release === "function") client.release(true);
    else void client.end().catch(ignore);
  };

  /** S2. Whatever still hangs on a connection is not waited for longer than this. */
  async close(): Promise<void> {
    if (this.connecting === null) {
      unhush(this.pool);
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
 * A connection that breaks is replaced when it is needed. A new one may break with the very bytes that say that it is
 * ready, when the pool has taken its ear off and whoever asked for it has not heard that it is there.
 */
function hush(pool: pg.Pool): void {
  pool.on("error", ignore);
  pool.on("connect", hushClient);
}
function unhush(pool: pg.Pool): void {
  pool.off("error", ignore);
  pool.off("connect", hushClient);
}
function hushClient(client: pg.PoolClient): void {
  client.on("error", ignore);
}

/** S3 */
async function loadDriver(): Promise<typeof pg> {
  try {
    return (await import("pg")).default;
  } catch (error) {
    const isMissing =
      error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    if (!isMissing) throw error;
    const message = "A PostgreSQL store needs the package pg: npm install pg";
    throw new PerdureError("INVALID_ARGUMENT", message, { cause: error });
  }
}

/** What a user's pool must be like. */
function refuseUnfit({ options: pool }: pg.Pool, { notifications }: StoreOptions): void {
  let why: string | null = null;
  // Our statements travel together by themselves; a client that mixes calls would tear them apart.
  if (pool.pipeline === true) why = "has the option `pipeline`, which Perdure cannot share";
  if (notifications && pool.max < 2) why = "has one connection, and listening takes it";
  if (why === null) return;
  throw new PerdureError("INVALID_ARGUMENT", `The pool ${why}; give Perdure another.`);
}

function unref(client: pg.Client): void {
  const { stream } = client.connection;
  if ("unref" in stream && typeof stream.unref === "function") stream.unref();
}
