// The SQLite provider: implements the storage contract. Each call goes to the object that owns its subject.
//   - Writes run on one connection. A write transaction begins and commits without yielding to the event
//       loop, so other calls of the process never read a half-written state.
//   - The store's clock is the environment's wall clock, passed to statements as a parameter (I3).

import { extname } from "node:path";
import type { Environment } from "../core/time/environment.ts";
import type { LivenessThread, LivenessThreadOptions } from "../core/provider/runtimes.ts";
import type { TransferStore } from "../core/provider/transfer.ts";
import { systemEnvironment } from "../core/time/system-environment.ts";
import { LivenessThreads } from "../liveness/liveness-threads.ts";
import { SqlProvider } from "../sql/provider.ts";
import { Transfer } from "../sql/admin/transfer.ts";
import { transferParts } from "./admin/transfer.ts";
import { assemble } from "./assemble.ts";
import { Connection } from "./connection/connection.ts";
import {
  describeDurability,
  leaveCheckpointsToThread,
  type Durability,
} from "./connection/settings.ts";
import type { StoreAddress } from "./liveness-thread.ts";
import type { Transaction } from "./notify/change-draft.ts";
import { settingsOf, type SqliteOptions } from "./options.ts";
import { SharedTransactions } from "./transactions/transactions.ts";

// The thread's file is next to this one, with the same extension: .ts in the sources, .js in the package.
const THREAD = new URL(`./liveness-thread${extname(import.meta.url)}`, import.meta.url);

/** A store in a SQLite file, or in memory. */
export class SqliteProvider extends SqlProvider<Transaction> {
  readonly name = "sqlite";
  readonly transactions = "synchronous";
  readonly durability: string;
  readonly environment: Environment;
  /** Absent for a store in memory, which a thread cannot open, and for an environment with another clock. */
  readonly startLivenessThread?: (options: LivenessThreadOptions) => LivenessThread;
  readonly transfer: TransferStore;
  readonly #connection: Connection;
  readonly #livenessThreads: LivenessThreads;
  readonly #shared: SharedTransactions;

  /** Opens the store in a file, which is created if it is missing, or in `:memory:`. */
  static async open(path: string, options: SqliteOptions = {}): Promise<SqliteProvider> {
    const settings = settingsOf(options);
    const connection = await Connection.open(path, settings);
    try {
      return await connection.read(() => new SqliteProvider(connection, settings.durability));
    } catch (error) {
      connection.closeFile();
      throw error;
    }
  }

  private constructor(connection: Connection, durability: Durability) {
    const parts = assemble(connection);
    const transactions = new SharedTransactions(connection, parts);
    super({ ...parts, transactions });
    const { path, environment } = connection;
    this.environment = environment;
    this.durability = describeDurability(path === null, durability);
    this.#connection = connection;
    this.#livenessThreads = new LivenessThreads(environment);
    if (path !== null && environment === systemEnvironment) {
      this.startLivenessThread = (options) => this.#startLivenessThread(options, { path });
    }
    this.transfer = new Transfer(parts.scripts, transferParts(connection));
    this.#shared = transactions;
  }

  now(): number {
    return this.#connection.now();
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#livenessThreads.stop();
    this.#shared.close();
    this.#connection.closeFile();
  }

  #startLivenessThread(options: LivenessThreadOptions, address: StoreAddress): LivenessThread {
    this.#connection.assertOpen();
    leaveCheckpointsToThread(this.#connection.database);
    return this.#livenessThreads.start(THREAD, options, address);
  }
}
