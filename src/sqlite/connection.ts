// Connection: one handle on the database, and its transactions.
//   N1. What is not ours is refused before the first write; durability is set and read back before the
//       second (P1).
//   N2. Nobody waits inside SQLite: a busy database is asked again later (semantics 32).
//   N3. A transaction that throws is rolled back before the error leaves; nothing of it is left.
//   N5. Each transaction first looks whether the clock was set back (clock.ts). A write then waits for the correction;
//       a read goes on without it where the correction fails, since a full disk does not stop reads.
//   N4. What one read tells is of one moment, however many statements it takes, and whoever writes meanwhile.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import { isFrozen, StoreClock } from "./clock.ts";
import { toOpenError, toPerdureError } from "./errors.ts";
import { createFile, IN_MEMORY, locate } from "./location.ts";
import { migrate, refuseForeign, type Migrate } from "./migrations.ts";
import { patiently, type Patience } from "./patience.ts";
import { SameFile } from "./same-file.ts";
import { applySettings, type Durability } from "./settings.ts";

export class Connection {
  /** The file's absolute path; null in memory. */
  readonly path: string | null;
  readonly environment: Environment;
  readonly #database: DatabaseSync;
  readonly #patience: Patience & { readonly durability: Durability };
  readonly #look: StatementSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #clock: StoreClock;
  /** One for all handles of this process on the file. */
  readonly #file: SameFile;
  #setBackMs = 0;

  static async open(
    path: string,
    options: Patience & { readonly durability: Durability; readonly migrate?: Migrate },
  ): Promise<Connection> {
    const file = locate(path);
    let database: DatabaseSync | undefined;
    try {
      if (file !== null) createFile(file);
      database = new DatabaseSync(file ?? IN_MEMORY, { timeout: 0 });
      const opened = database;
      await patiently(options, () => {
        refuseForeign(opened, path, options.migrate ?? "apply");
        applySettings(opened, { path, inMemory: file === null, durability: options.durability });
        migrate(opened, path, Math.floor(options.environment.now()));
      });
      return new Connection(opened, file, options);
    } catch (error) {
      database?.close();
      throw toOpenError(path, error);
    }
  }

  private constructor(
    database: DatabaseSync,
    path: string | null,
    patience: Patience & { readonly durability: Durability },
    sameFile = new SameFile(path, patience.environment),
  ) {
    this.#database = database;
    this.path = path;
    this.environment = patience.environment;
    this.#patience = patience;
    this.#look = database.prepare("BEGIN");
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#clock = new StoreClock(database);
    this.#file = sameFile;
  }

  /** The handle itself, for the statements of a step's transaction. */
  get database(): DatabaseSync {
    return this.#database;
  }

  /** A second handle on the same file, as durable as this one. */
  again(): Connection {
    if (this.path === null) throw new Error("A database in memory has one handle.");
    this.assertOpen(); // or a new, empty file would be made
    const database = new DatabaseSync(this.path, { timeout: 0 });
    const { path, durability } = { path: this.path, durability: this.#patience.durability };
    applySettings(database, { path, inMemory: false, durability });
    return new Connection(database, this.path, this.#patience, this.#file);
  }

  /** Another handle on the same file that somebody else has opened, and closes. */
  over(database: DatabaseSync): Connection {
    return new Connection(database, this.path, this.#patience, this.#file);
  }

  prepare(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }

  /** The store's clock, in whole milliseconds (I3). */
  now(): number {
    return Math.floor(this.environment.now());
  }

  /** By how much the clock was set back since the last call of this, as far as this process has corrected it. */
  takeSetBackMs(): number {
    const taken = this.#setBackMs;
    this.#setBackMs = 0;
    return taken;
  }

  /** Writes inside a transaction that the user has begun. */
  writeWithin<T>(work: () => T): Promise<T> {
    return this.#patiently(() => {
      this.#clock.keep(this.now());
      return work();
    });
  }

  /** N4. Inside a transaction that somebody else has begun, it is a part of that. */
  read<T>(work: () => T): Promise<T> {
    return this.#patiently(() => this.#atOneMoment(work));
  }

  async write<T>(work: () => T): Promise<T> {
    try {
      return await this.transaction(work);
    } catch (error) {
      throw toPerdureError(error);
    }
  }

  /**
   * Acts on what `find` finds; in a transaction, with another look under its lock, only if `mustWrite` says
   * so. A call that finds nothing to do takes no lock and waits for nobody.
   */
  readThenWrite<Found, T>(
    find: () => Found,
    mustWrite: (found: Found) => boolean,
    act: (found: Found) => T,
  ): Promise<T> {
    return this.#patiently(() => {
      const done = this.#atOneMoment(() => {
        const found = find();
        return mustWrite(found) ? null : { value: act(found) };
      });
      return done === null ? this.#transact(() => act(find())) : done.value;
    });
  }

  /** As `write`, but what SQLite throws leaves as it is, for those who tell the reasons apart. */
  transaction<T>(work: () => T): Promise<T> {
    return patiently(this.#patience, () => {
      this.assertOpen();
      return this.#transact(work);
    });
  }

  assertOpen(): void {
    if (!this.#database.isOpen) {
      throw new PerdureError("STORE_UNAVAILABLE", "The provider is closed.");
    }
    this.#file.assert();
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  async #patiently<T>(work: () => T): Promise<T> {
    try {
      return await patiently(this.#patience, () => {
        this.assertOpen();
        return work();
      });
    } catch (error) {
      throw toPerdureError(error);
    }
  }

  #atOneMoment<T>(work: () => T): T {
    if (this.#database.isTransaction) return work();
    return this.#run(this.#look, () => {
      if (!this.#clock.isSetBack(this.now())) return work();
      this.#commit.run();
      try {
        this.#rebase();
      } catch {
        // N5
      }
      this.#look.run();
      return work();
    });
  }

  #transact<T>(work: () => T): T {
    return this.#run(this.#begin, () => {
      if (!this.#clock.keep(this.now())) {
        this.#commit.run();
        this.#rebase();
        this.#begin.run();
      }
      return work();
    });
  }

  /** In a transaction of its own, so that it stays when the work that follows is rolled back. */
  #rebase(): void {
    try {
      this.#setBackMs += this.#run(this.#begin, () => this.#clock.rebase(this.now()));
    } catch (error) {
      if (!isFrozen(error)) throw error;
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
