// Connection: the pool, and the ways in which statements are run on it.
//   N1. `look` and `survey` read; `write` is a transaction in one round trip; `transact` is one that needs answers in between.
//       All of them give their connection back as they found it, or not at all. What the database throws leaves them
//       as it is; `read`, `send` and whatever else is not asked for reasons throw PerdureErrors (S3).
//   N2. A write holds its writer's lock and passes the bar (bar.ts). One whose connection is lost leaves a doubt,
//       which is cleared before the next.
//   N3. A connection that breaks is told to whoever waits for its answer, and is no event of the process.
//   N4. Statements name their tables as `@instances`; here they get their schema.
//   N5. Behind a pooler that gives each transaction another connection, a statement that was prepared may be missing, or
//       may be there already. That is noticed by its error: from then on nothing is prepared (`whenShared`). What was one
//       round trip is sent again: the server did nothing of it.

import type pg from "pg";
import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import { Bar } from "./bar.ts";
import { StoreClock } from "./clock.ts";
import { texts } from "./column-arrays.ts";
import { integer, only, type Row } from "./columns.ts";
import { isLost, isMisplaced, isSpoiled, toPerdureError } from "./errors.ts";
import { Pipeline, Statement, type RunOptions, type Value } from "./pipeline.ts";
import { END_SETTINGS, LOOK_SETTINGS, SURVEY_SETTINGS, WRITE_SETTINGS } from "./settings.ts";

export interface ConnectionOptions extends RunOptions {
  readonly environment: Environment;
  /** As it stands in statements. */
  readonly schema: string;
  /** The value of synchronous_commit for every write. */
  readonly commit: string;
  readonly readOnly: boolean;
}

export interface WriteOptions {
  /** Who gets leases in it: none of them is declared dead meanwhile (runtimes.ts). */
  readonly owners?: readonly string[];
  /** How long to wait for a lock that somebody holds. Default LOCK_MS. */
  readonly lockMs?: number;
}

/** A transaction that is under way. */
export interface Statements {
  /** The store's clock when it began. */
  readonly now: number;
  run(statement: Statement, values?: readonly Value[]): Promise<Row[]>;
  all(pipeline: Pipeline): Promise<void>;
}

/** For what nobody shares; the group commit is less patient (commit.ts). */
const LOCK_MS = 5_000;

const BEGIN = new Statement("BEGIN ISOLATION LEVEL READ COMMITTED");
const COMMIT = new Statement("COMMIT");
const ROLLBACK = new Statement("ROLLBACK");
const LOOK = new Statement(LOOK_SETTINGS);
const SURVEY = new Statement(SURVEY_SETTINGS);
const WRITE = new Statement(WRITE_SETTINGS);
const END = new Statement(END_SETTINGS);
const SHARE = new Statement(
  "SELECT pg_advisory_xact_lock_shared(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name",
);
const EXCLUDE = new Statement("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");
const ignore = (): void => {};
/** One such error may be a DISCARD ALL of the user's; a pooler brings the next one at once. */
const GONE_MAX = 2;
const SHARED = `PostgreSQL is reached through a pooler that shares connections between transactions, such as PgBouncer \
in transaction mode. Perdure goes on without prepared statements and finds the work of other processes by polling. To \
say so from the start, and to end this warning, open the store with notifications: false, or add \
perdure.notifications=off to its address.`;

export class Connection {
  readonly environment: Environment;
  readonly schema: string;
  readonly clock: StoreClock;
  readonly #pool: pg.Pool;
  readonly #options: ConnectionOptions;
  readonly #bar: Bar;
  /** Connections on which a transaction may still be open. */
  readonly #unfinished = new WeakSet<pg.PoolClient>();
  #prepare: boolean;
  #gone = 0;
  #onShared: () => void = ignore;
  #closed = false;

  constructor(pool: pg.Pool, options: ConnectionOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#prepare = options.prepare;
    this.environment = options.environment;
    this.schema = options.schema;
    this.clock = new StoreClock(options.environment);
    this.#bar = new Bar(options.environment, options.schema);
  }

  prepare(sql: string): Statement {
    const literal = this.schema.replaceAll("'", "''");
    return new Statement(
      sql
        .replaceAll(/'@([a-z_]+)'/g, (_, name) => `'${literal}.${name}'`)
        .replaceAll(/@([a-z_]+)/g, (_, name) => `${this.schema}.${name}`),
    );
  }

  now(): number {
    return this.clock.now();
  }

  get isReadOnly(): boolean {
    return this.#options.readOnly;
  }

  /** Calls back when it turns out that a pooler shares the connections (N5). */
  whenShared(react: () => void): void {
    this.#onShared = react;
  }

  /** A number that nobody else draws. */
  draw(): number {
    return Math.floor(this.environment.random() * Number.MAX_SAFE_INTEGER);
  }

  /** One statement that only reads. */
  async read(statement: Statement, values: readonly Value[] = []): Promise<Row[]> {
    const pipeline = new Pipeline();
    const answer = pipeline.add(statement, values);
    await this.look(pipeline);
    return answer.rows;
  }

  /** Statements that only read, by the store's clock. */
  async look(pipeline: Pipeline): Promise<void> {
    await told(
      this.#again(pipeline, () => {
        const whole = new Pipeline();
        whole.add(LOOK, [this.clock.given]);
        whole.join(pipeline);
        return this.#on((client) => whole.run(client, this.#running));
      }),
    );
  }

  /** Statements that read much, planned for what they meet and not kept by the server; by the store's clock. */
  async survey(pipeline: Pipeline): Promise<void> {
    const whole = new Pipeline();
    whole.add(SURVEY, [this.clock.given]);
    whole.join(pipeline);
    await told(this.#on((client) => whole.run(client, { ...this.#options, prepare: false })));
  }

  /** As `survey`, of one statement. */
  async readOnce(statement: Statement, values: readonly Value[] = []): Promise<Row[]> {
    const pipeline = new Pipeline();
    const answer = pipeline.add(statement, values);
    await this.survey(pipeline);
    return answer.rows;
  }

  /** A transaction, in one round trip. */
  async write(pipeline: Pipeline, options: WriteOptions = {}): Promise<void> {
    this.assertWritable();
    await this.#clear();
    await this.#again(pipeline, async () => {
      const whole = new Pipeline();
      const checked = this.#begin(whole, options);
      whole.join(pipeline);
      whole.add(COMMIT);
      const askedAt = this.environment.monotonic();
      await this.#on(async (client) => {
        try {
          await whole.run(client, this.#running);
        } catch (error) {
          throw await this.#undo(client, error);
        }
      });
      this.clock.told(integer(only(checked.rows), "now"), askedAt);
    });
  }

  /** A transaction whose next statement depends on what the last one said. */
  async transact<T>(
    options: WriteOptions,
    work: (statements: Statements) => Promise<T>,
  ): Promise<T> {
    this.assertWritable();
    await this.#clear();
    return this.#on(async (client) => {
      try {
        const begun = new Pipeline();
        const checked = this.#begin(begun, options);
        const askedAt = this.environment.monotonic();
        await begun.run(client, this.#running);
        const now = integer(only(checked.rows), "now");
        this.clock.told(now, askedAt);
        const result = await work(this.#statements(client, now));
        const end = new Pipeline();
        end.add(COMMIT);
        await end.run(client, this.#running);
        return result;
      } catch (error) {
        throw await this.#undo(client, error);
      }
    });
  }

  /**
   * Ends a transaction that is not of our making with statements of ours and its COMMIT, in one round trip. The
   * writer's lock is held for no longer than that, however long the transaction was open.
   */
  async finish(client: pg.ClientBase, pipeline: Pipeline): Promise<void> {
    this.assertWritable();
    await this.#clear();
    const whole = new Pipeline();
    whole.add(END, [this.clock.given, LOCK_MS, this.#options.commit]);
    whole.add(SHARE, [texts([this.#bar.writer])]);
    whole.add(...this.#bar.check);
    whole.add(...this.#bar.checkOld);
    whole.join(pipeline);
    whole.add(COMMIT);
    try {
      await whole.run(client, { ...this.#options, prepare: false });
    } catch (error) {
      if (isLost(error)) this.#bar.doubt();
      throw error;
    }
  }

  /** A transaction during which nobody gives a lease to that runtime. */
  async transactWithout<T>(
    owner: string,
    work: (statements: Statements) => Promise<T>,
  ): Promise<T> {
    return this.transact({}, async (statements) => {
      await statements.run(EXCLUDE, [this.#lockOf(owner)]);
      return work(statements);
    });
  }

  /** A statement outside every transaction of ours, such as NOTIFY. */
  async send(statement: Statement, values: readonly Value[]): Promise<void> {
    const pipeline = new Pipeline();
    pipeline.add(statement, values);
    await told(this.#on((client) => pipeline.run(client, this.#running)));
  }

  /** Before something is settled: nothing that is in doubt is written from now on. */
  async settled(): Promise<void> {
    await this.#clear();
  }

  assertOpen(): void {
    if (this.#closed) throw new PerdureError("STORE_UNAVAILABLE", "The provider is closed.");
  }

  assertWritable(): void {
    if (!this.#options.readOnly) return;
    throw new PerdureError("STORE_READ_ONLY", "The store was opened with readOnly: true.");
  }

  close(): void {
    this.#closed = true;
  }

  get #running(): RunOptions {
    return { prepare: this.#prepare, answerMs: this.#options.answerMs };
  }

  #begin(pipeline: Pipeline, { owners = [], lockMs = LOCK_MS }: WriteOptions) {
    pipeline.add(BEGIN);
    pipeline.add(WRITE, [this.clock.given, this.clock.lockMs(lockMs), this.#options.commit]);
    const locks = owners.map((owner) => this.#lockOf(owner)).toSorted();
    pipeline.add(SHARE, [texts([this.#bar.writer, ...locks])]);
    return pipeline.add(...this.#bar.check);
  }

  #lockOf(owner: string): string {
    return `${this.schema}:runtime:${owner}`;
  }

  #statements(client: pg.PoolClient, now: number): Statements {
    const all = (pipeline: Pipeline): Promise<void> =>
      pipeline.isEmpty ? Promise.resolve() : pipeline.run(client, this.#running);
    return {
      now,
      all,
      run: async (statement, values = []) => {
        const pipeline = new Pipeline();
        const answer = pipeline.add(statement, values);
        await all(pipeline);
        return answer.rows;
      },
    };
  }

  /** Makes an end of a transaction that failed; hands the reason back. */
  async #undo(client: pg.PoolClient, reason: unknown): Promise<unknown> {
    if (isLost(reason)) {
      this.#bar.doubt();
      return reason;
    }
    const end = new Pipeline();
    end.add(ROLLBACK);
    try {
      await end.run(client, { ...this.#running, prepare: false });
      return reason;
    } catch (error) {
      this.#unfinished.add(client); // nothing of it was committed, and it may be open still
      return isLost(error) ? error : reason;
    }
  }

  /** N5. One round trip, and a second one if the first met statements that were misplaced. */
  async #again(pipeline: Pipeline, run: () => Promise<void>): Promise<void> {
    for (let left = GONE_MAX; ; left--) {
      try {
        return await run();
      } catch (error) {
        if (left === 0 || isMisplaced(error) === null) throw error;
        pipeline.forget();
      }
    }
  }

  #noticeShared(error: unknown): void {
    const misplaced = isMisplaced(error);
    if (misplaced === null || !this.#prepare) return;
    if (misplaced === "gone" && ++this.#gone < GONE_MAX) return;
    this.#prepare = false;
    process.emitWarning(SHARED, "PerdureWarning");
    this.#onShared();
  }

  async #clear(): Promise<void> {
    const cleared = this.#bar.clear((steps) =>
      this.#on(async (client) => {
        const lowering = new Pipeline();
        lowering.add(BEGIN);
        lowering.add(WRITE, [this.clock.given, LOCK_MS, this.#options.commit]);
        for (const [statement, values] of steps) lowering.add(statement, values);
        lowering.add(COMMIT);
        try {
          await lowering.run(client, this.#running);
        } catch (error) {
          throw isLost(error) ? error : await this.#undo(client, error);
        }
      }),
    );
    await told(cleared);
  }

  /** Works on a connection of the pool's; what the database throws leaves as it is. */
  async #on<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    this.assertOpen();
    const client = await this.#pool.connect();
    client.on("error", ignore); // N3
    let spoiled = false;
    try {
      return await work(client);
    } catch (error) {
      spoiled = isSpoiled(error) || this.#unfinished.has(client);
      this.#noticeShared(error);
      throw error;
    } finally {
      client.off("error", ignore);
      client.release(spoiled);
    }
  }
}

/** What fails, fails with a PerdureError. */
export async function told<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw toPerdureError(error);
  }
}
