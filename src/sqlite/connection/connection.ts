// Connection: one handle on the database, and its transactions.
//   - A database that is not a Perdure store raises an error before the first write. Durability is set and
//       read back before the second write (P1).
//   - No call waits inside SQLite: a call on a busy database is retried later (semantics 32).
//   - A transaction that throws is rolled back completely before the error leaves.
//   - sqlite.connection.1: Each transaction first checks whether the clock was set back
//       (connection/clock.ts). A write waits for the correction. A read goes on if the correction fails,
//       because a full disk must not stop reads.
//   - sqlite.connection.2: One read sees one snapshot, however many statements it runs and whatever other
//       processes write.
//   - sqlite.connection.3: With durability "full", a call returns after everything that it wrote or read is on
//       disk, whichever process committed it (connection/log-sync.ts). Only `readAhead` does not wait.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Environment } from "../../core/time/environment.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { isMoveLocked, StoreClock } from "./clock.ts";
import { toOpenError, toPerdureError } from "./errors.ts";
import { createFile, IN_MEMORY, locate } from "./location.ts";
import { LogSync } from "./log-sync.ts";
import { migrate, refuseForeign, type Migrate } from "../migrations.ts";
import { ScriptDriver } from "./script-driver.ts";
import type { Script } from "../../sql/script/script.ts";
import { retryWhileBusy, type BusyRetryOptions } from "./busy-retry.ts";
import { SameFile } from "./same-file.ts";
import { applySettings, leaveSyncsToCaller, type Durability } from "./settings.ts";

type ConnectionOptions = BusyRetryOptions & { readonly durability: Durability };

/** What all handles of this process on one file share. */
interface OpenFile {
  readonly same: SameFile;
  /** Null: SQLite itself decides when commits reach the disk. */
  readonly log: LogSync | null;
}

/** A committed transaction: its result, and when it is on disk. Null: it is. */
export interface Committed<T> {
  readonly result: T;
  readonly onDisk: Promise<void> | null;
}

export class Connection {
  /** The absolute path of the file; null for a store in memory. */
  readonly path: string | null;
  readonly environment: Environment;
  readonly #database: DatabaseSync;
  readonly #options: ConnectionOptions;
  readonly #beginRead: StatementSync;
  readonly #beginWrite: StatementSync;
  readonly #commit: StatementSync;
  readonly #clock: StoreClock;
  readonly #scripts: ScriptDriver;
  readonly #dataVersion: StatementSync;
  readonly #file: OpenFile;
  /** The commits of other connections up to this `PRAGMA data_version` are on disk. */
  #syncedVersion: unknown = null;
  #setBackMs = 0;

  static async open(
    path: string,
    options: ConnectionOptions & { readonly migrate?: Migrate },
  ): Promise<Connection> {
    const file = locate(path);
    let database: DatabaseSync | undefined;
    try {
      if (file !== null) createFile(file);
      database = new DatabaseSync(file ?? IN_MEMORY, { timeout: 0 });
      const opened = database;
      await retryWhileBusy(options, () => {
        refuseForeign(opened, path, options.migrate ?? "apply");
        applySettings(opened, { path, inMemory: file === null, durability: options.durability });
        migrate(opened, path, Math.floor(options.environment.now()));
      });
      const same = new SameFile(file, options.environment);
      if (file === null || options.durability === "normal") {
        return new Connection(opened, file, options, { same, log: null });
      }
      const log = new LogSync(file, options.environment);
      leaveSyncsToCaller(opened, file);
      return new Connection(opened, file, options, { same, log });
    } catch (error) {
      database?.close();
      throw toOpenError(path, error);
    }
  }

  private constructor(
    database: DatabaseSync,
    path: string | null,
    options: ConnectionOptions,
    openFile: OpenFile,
  ) {
    this.#database = database;
    this.path = path;
    this.environment = options.environment;
    this.#options = options;
    this.#beginRead = database.prepare("BEGIN");
    this.#beginWrite = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#clock = new StoreClock(database);
    this.#scripts = new ScriptDriver(database);
    this.#dataVersion = database.prepare("PRAGMA data_version");
    this.#file = openFile;
  }

  /** The handle itself, for the statements of a `ctx.tx` step. */
  get database(): DatabaseSync {
    return this.#database;
  }

  /** Opens a second handle on the same file, with the same durability. */
  openSecondHandle(): Connection {
    if (this.path === null) throw new Error("A database in memory has only one handle.");
    this.assertOpen(); // otherwise SQLite would create a new, empty file
    const database = new DatabaseSync(this.path, { timeout: 0 });
    const { path, durability } = { path: this.path, durability: this.#options.durability };
    applySettings(database, { path, inMemory: false, durability });
    if (this.#file.log !== null) leaveSyncsToCaller(database, path);
    return new Connection(database, this.path, this.#options, this.#file);
  }

  /** Uses a handle on the same file that the caller has opened and will close. */
  onHandle(database: DatabaseSync): Connection {
    return new Connection(database, this.path, this.#options, this.#file);
  }

  prepare(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }

  /** The store's clock, in whole milliseconds (I3). */
  now(): number {
    return Math.floor(this.environment.now());
  }

  /** By how much this process has corrected a clock that was set back, since the last call of this method. */
  takeSetBackMs(): number {
    const taken = this.#setBackMs;
    this.#setBackMs = 0;
    return taken;
  }

  /** Writes inside a transaction that the user has begun. */
  writeWithin<T>(work: () => T): Promise<T> {
    return this.#retrying(() => {
      this.#clock.raise(this.now());
      return work();
    });
  }

  /**
   * sqlite.connection.2, sqlite.connection.3. Inside an open transaction the read is a part of that
   * transaction.
   */
  async read<T>(work: () => T): Promise<T> {
    const { log } = this.#file;
    if (log === null) return this.readAhead(work);
    const { result, version } = await this.readAhead(() => ({
      result: work(),
      version: this.#dataVersion.get()?.["data_version"],
    }));
    // Its own commits do not change the version of a connection.
    const onDisk = version === this.#syncedVersion ? log.pending() : log.commit(true);
    if (onDisk !== null) await onDisk;
    this.#syncedVersion = version;
    return result;
  }

  /**
   * Like `read`, for callers that act on the result only after a write: the result may contain commits that
   * are not on disk yet, and the sync of that write includes them.
   */
  readAhead<T>(work: () => T): Promise<T> {
    return this.#retrying(() => this.#inSnapshot(work));
  }

  /** Runs a script inside the open transaction. `now` is the time of that transaction. */
  run<T>(script: Script<T>, now = this.now()): T {
    return this.#scripts.run(script, now);
  }

  async write<T>(work: () => T): Promise<T> {
    try {
      return await this.transaction(work);
    } catch (error) {
      throw toPerdureError(error);
    }
  }

  /**
   * Calls `act` with the result of `find`. If `mustWrite` returns true, both run again in a write
   * transaction. A call that has nothing to write takes no lock and does not wait.
   */
  async readThenWrite<Found, T>(
    find: () => Found,
    mustWrite: (found: Found) => boolean,
    act: (found: Found) => T,
  ): Promise<T> {
    const { result, onDisk } = await this.#retrying(() => {
      const done = this.#inSnapshot(() => {
        const found = find();
        return mustWrite(found) ? null : { result: act(found), onDisk: null };
      });
      return done ?? this.#transact(() => act(find()), true);
    });
    if (onDisk !== null) await onDisk;
    return result;
  }

  /** Like `write`, but throws the errors of SQLite unchanged, for callers that examine them. */
  async transaction<T>(work: () => T): Promise<T> {
    const { result, onDisk } = await this.commit(work, true);
    if (onDisk !== null) await onDisk;
    return result;
  }

  /**
   * Like `transaction`, but returns as soon as the transaction is committed. `isSmall`: waiting for the sync
   * is most of its time (log-sync.3).
   */
  commit<T>(work: () => T, isSmall: boolean): Promise<Committed<T>> {
    return retryWhileBusy(this.#options, () => {
      this.assertOpen();
      return this.#transact(work, isSmall);
    });
  }

  assertOpen(): void {
    if (!this.#database.isOpen) {
      throw new PerdureError("STORE_UNAVAILABLE", "The provider is closed.");
    }
    this.#file.same.assert();
    this.#file.log?.assert();
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** Also closes what the handles share. */
  closeFile(): void {
    this.close();
    this.#file.log?.close();
  }

  async #retrying<T>(work: () => T): Promise<T> {
    try {
      return await retryWhileBusy(this.#options, () => {
        this.assertOpen();
        return work();
      });
    } catch (error) {
      throw toPerdureError(error);
    }
  }

  #inSnapshot<T>(work: () => T): T {
    if (this.#database.isTransaction) return work();
    return this.#run(this.#beginRead, () => {
      if (!this.#clock.isSetBack(this.now())) return work();
      this.#commit.run();
      try {
        this.#rebase();
      } catch {
        // sqlite.connection.1
      }
      this.#beginRead.run();
      return work();
    });
  }

  #transact<T>(work: () => T, isSmall: boolean): Committed<T> {
    const result = this.#run(this.#beginWrite, () => {
      if (!this.#clock.raise(this.now())) {
        this.#commit.run();
        this.#rebase();
        this.#beginWrite.run();
      }
      return work();
    });
    return { result, onDisk: this.#file.log?.commit(isSmall) ?? null };
  }

  /** Runs in a separate transaction, so that it persists if the work that follows is rolled back. */
  #rebase(): void {
    try {
      this.#setBackMs += this.#run(this.#beginWrite, () => this.#clock.rebase(this.now()));
    } catch (error) {
      if (!isMoveLocked(error)) throw error;
    }
  }

  #run<T>(begin: StatementSync, work: () => T): T {
    begin.run();
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      // SQLite has already rolled back after some errors, such as a full disk.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}
