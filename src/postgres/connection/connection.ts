// Connection: the pool, and the ways in which statements are run on it.
//   - `look` and `survey` read. `write` is a transaction in one round trip. `transact` is a transaction
//       whose statements depend on earlier answers. Each returns its connection to the pool clean, or
//       closes it. `write`, `transact` and `finish` throw the database's errors unchanged, for callers that
//       examine them; the other calls throw PerdureErrors (provider.2).
//   - A write holds its writer's lock and passes the fence (write-fence.ts). If the connection is lost
//       during a write, the fence is raised before the next write.
//   - postgres.connection.1: A broken connection rejects the call that waits for its answer. Its "error"
//       event must not reach the process.
//   - Statements name their tables as `@instances`; `prepare` adds the schema.
//   - postgres.connection.2: Behind a pooler that may use another connection for each transaction, a
//       prepared statement may be missing or may exist already. The first such errors reveal it: from then
//       on nothing is prepared (`whenShared`). A single round trip is sent again, because the server did
//       nothing of it.

import type pg from "pg";
import type { Environment } from "../../core/time/environment.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { WriteFence } from "./write-fence.ts";
import { StoreClock } from "./clock.ts";
import { texts } from "../sql/column-arrays.ts";
import { integer, only, type Row } from "../../sql/columns.ts";
import { isLost, isMisplaced, isSpoiled, toPerdureError } from "./errors.ts";
import { Pipeline, rowsOf, Statement, type RunOptions, type Value } from "./pipeline.ts";
import { SharedStatements } from "./script-driver.ts";
import { statementsOn, type Statements } from "./statements.ts";
import { settingStatements, type Timeout } from "./settings.ts";

export interface ConnectionOptions extends RunOptions {
  readonly environment: Environment;
  /** Quoted for use in statements. */
  readonly schema: string;
  /** The value of synchronous_commit for every write. */
  readonly commit: string;
  readonly readOnly: boolean;
  /** The timeouts of the role that do not apply to Perdure's transactions (settings.2). */
  readonly timeouts: readonly Timeout[];
}

export interface WriteOptions {
  /**
   * The runtimes that get leases in this transaction. None of them can be declared dead during it
   * (sql/lease/runtimes.ts).
   */
  readonly owners?: readonly string[];
  /** The lock timeout in milliseconds. Default LOCK_MS. */
  readonly lockMs?: number;
}

/** The lock timeout of single writes. Group commit uses a shorter one (write/commit.ts). */
const LOCK_MS = 5_000;

const BEGIN = new Statement("BEGIN ISOLATION LEVEL READ COMMITTED");
const COMMIT = new Statement("COMMIT");
const ROLLBACK = new Statement("ROLLBACK");
const SHARE = new Statement(`
  SELECT pg_advisory_xact_lock_shared(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name`);
const EXCLUDE = new Statement("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");
const ignore = (): void => {};
/**
 * One missing statement may follow from a DISCARD ALL by the user. Behind a pooler the next one follows at
 * once.
 */
const GONE_MAX = 2;

export class Connection {
  readonly environment: Environment;
  readonly schema: string;
  readonly clock: StoreClock;
  readonly statements = new SharedStatements(this);
  readonly #pool: pg.Pool;
  readonly #options: ConnectionOptions;
  readonly #fence: WriteFence;
  readonly #settings: ReturnType<typeof settingStatements>;
  /** Connections on which a transaction may still be open. */
  readonly #unfinished = new WeakSet<pg.PoolClient>();
  #prepare: boolean;
  #goneCount = 0;
  #onShared: () => void = ignore;
  #closed = false;

  constructor(pool: pg.Pool, options: ConnectionOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#prepare = options.prepare;
    this.environment = options.environment;
    this.schema = options.schema;
    this.clock = new StoreClock(options.environment);
    this.#fence = new WriteFence(options.environment, options.schema);
    this.#settings = settingStatements(options.timeouts);
  }

  prepare(sql: string): Statement {
    const literal = this.schema.replaceAll("'", "''").replaceAll("\\", "\\\\");
    return new Statement(
      sql
        .replaceAll(/@now\b/g, "(SELECT @clock())")
        // With E a backslash means the same, whatever standard_conforming_strings is.
        .replaceAll(/'@([a-z_]+)'/g, (_, name) => `E'${literal}.${name}'`)
        .replaceAll(/@([a-z_]+)/g, (_, name) => `${this.schema}.${name}`),
    );
  }

  now(): number {
    return this.clock.now();
  }

  get isReadOnly(): boolean {
    return this.#options.readOnly;
  }

  /** Calls `react` when a pooler turns out to share the connections (postgres.connection.2). */
  whenShared(react: () => void): void {
    this.#onShared = react;
  }

  /** A random number, large enough to be unique. */
  randomInteger(): number {
    return Math.floor(this.environment.random() * Number.MAX_SAFE_INTEGER);
  }

  /** Runs one statement that only reads. */
  read(statement: Statement, values?: readonly Value[]): Promise<Row[]> {
    return rowsOf((pipeline) => this.readPipeline(pipeline), statement, values);
  }

  /** Runs statements that only read, with the store's clock and with index plans (settings.1). */
  readPipeline(pipeline: Pipeline): Promise<void> {
    return this.#runAfter([this.#settings.look], pipeline);
  }

  /**
   * Runs statements that read much, with the store's clock. The server plans them for each call and does
   * not keep them.
   */
  async readPipelineOnce(pipeline: Pipeline): Promise<void> {
    const whole = new Pipeline();
    whole.add(this.#settings.survey, [this.clock.transactionTime]);
    whole.join(pipeline);
    await withPerdureErrors(
      this.#withClient((client) => whole.run(client, { ...this.#options, prepare: false })),
    );
  }

  /** Like `survey`, for one statement. */
  readOnce(statement: Statement, values?: readonly Value[]): Promise<Row[]> {
    return rowsOf((pipeline) => this.readPipelineOnce(pipeline), statement, values);
  }

  /** Runs a transaction in one round trip. */
  async write(pipeline: Pipeline, options: WriteOptions = {}): Promise<void> {
    this.assertWritable();
    await this.#raiseFence();
    await this.#retryMisplaced(pipeline, async () => {
      const whole = new Pipeline();
      const checked = this.#begin(whole, options);
      whole.join(pipeline);
      whole.add(COMMIT);
      const askedAt = this.environment.monotonic();
      await this.#withClient(async (client) => {
        try {
          await whole.run(client, this.#runOptions);
        } catch (error) {
          throw await this.#rollBack(client, error);
        }
      });
      this.clock.addSample(integer(only(checked.rows), "now"), askedAt);
    });
  }

  /** Runs a transaction whose statements depend on earlier answers. */
  async transact<T>(
    options: WriteOptions,
    work: (statements: Statements) => Promise<T>,
  ): Promise<T> {
    this.assertWritable();
    await this.#raiseFence();
    return this.#withClient(async (client) => {
      try {
        const begun = new Pipeline();
        const checked = this.#begin(begun, options);
        const askedAt = this.environment.monotonic();
        await begun.run(client, this.#runOptions);
        const now = integer(only(checked.rows), "now");
        this.clock.addSample(now, askedAt);
        const result = await work(this.#statements(client, now));
        await new Pipeline(COMMIT).run(client, this.#runOptions);
        return result;
      } catch (error) {
        throw await this.#rollBack(client, error);
      }
    });
  }

  /**
   * Ends a transaction that user code has begun: runs Perdure's statements and COMMIT in one round trip.
   * The writer's lock is held for that round trip only, however long the transaction was open.
   */
  async finish(client: pg.ClientBase, pipeline: Pipeline): Promise<void> {
    this.assertWritable();
    await this.#raiseFence();
    const whole = new Pipeline();
    whole.add(this.#settings.end, [this.clock.transactionTime, LOCK_MS, this.#options.commit]);
    whole.add(SHARE, [texts([this.#fence.writer])]);
    whole.add(...this.#fence.check);
    whole.add(...this.#fence.checkSnapshot);
    whole.join(pipeline);
    whole.add(COMMIT);
    try {
      await whole.run(client, { ...this.#options, prepare: false });
    } catch (error) {
      if (isLost(error)) this.#fence.markLost();
      throw error;
    }
  }

  /** Runs a transaction during which no lease can be given to the runtime `owner`. */
  async transactWithout<T>(
    owner: string,
    work: (statements: Statements) => Promise<T>,
  ): Promise<T> {
    return this.transact({}, async (statements) => {
      await statements.run(EXCLUDE, [this.#lockOf(owner)]);
      return work(statements);
    });
  }

  /** Runs one statement that needs no settings and no transaction block, such as NOTIFY. */
  send(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    return rowsOf((pipeline) => this.#runAfter([], pipeline), statement, values);
  }

  /** Ensures that writes of lost connections can no longer commit. Call it before recovering an outcome. */
  async fenceLostWrites(): Promise<void> {
    await this.#raiseFence();
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

  get #runOptions(): RunOptions {
    return { prepare: this.#prepare, answerMs: this.#options.answerMs };
  }

  #begin(pipeline: Pipeline, { owners = [], lockMs = LOCK_MS }: WriteOptions) {
    pipeline.add(BEGIN);
    const locks = owners.map((owner) => this.#lockOf(owner)).toSorted();
    pipeline.add(this.#settings.writeLocked, [
      this.clock.transactionTime,
      this.clock.lockMs(lockMs),
      this.#options.commit,
      texts([this.#fence.writer, ...locks]),
    ]);
    return pipeline.add(...this.#fence.check);
  }

  #lockOf(owner: string): string {
    return `${this.schema}:runtime:${owner}`;
  }

  #statements(client: pg.PoolClient, now: number): Statements {
    const send = (pipeline: Pipeline): Promise<void> => pipeline.run(client, this.#runOptions);
    return statementsOn(send, now, this.statements);
  }

  /** Rolls back a failed transaction. Returns the error to throw. */
  async #rollBack(client: pg.PoolClient, reason: unknown): Promise<unknown> {
    if (isLost(reason)) {
      this.#fence.markLost();
      return reason;
    }
    try {
      await new Pipeline(ROLLBACK).run(client, { ...this.#runOptions, prepare: false });
      return reason;
    } catch (error) {
      this.#unfinished.add(client); // nothing was committed, but the transaction may still be open
      return isLost(error) ? error : reason;
    }
  }

  /** Runs statements in one round trip, after those that set the store's clock and the plans. */
  #runAfter(settings: readonly Statement[], pipeline: Pipeline): Promise<void> {
    const sent = this.#retryMisplaced(pipeline, () => {
      const whole = new Pipeline();
      for (const statement of settings) whole.add(statement, [this.clock.transactionTime]);
      whole.join(pipeline);
      return this.#withClient((client) => whole.run(client, this.#runOptions));
    });
    return withPerdureErrors(sent);
  }

  /** postgres.connection.2. Runs a round trip, and repeats it after an error about a prepared statement. */
  async #retryMisplaced(pipeline: Pipeline, run: () => Promise<void>): Promise<void> {
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
    if (misplaced === "gone" && ++this.#goneCount < GONE_MAX) return;
    this.#prepare = false;
    this.#onShared();
  }

  async #raiseFence(): Promise<void> {
    const raised = this.#fence.raise((steps) =>
      this.#withClient(async (client) => {
        const pipeline = new Pipeline(BEGIN);
        pipeline.add(this.#settings.write, [
          this.clock.transactionTime,
          LOCK_MS,
          this.#options.commit,
        ]);
        for (const [statement, values] of steps) pipeline.add(statement, values);
        pipeline.add(COMMIT);
        try {
          await pipeline.run(client, this.#runOptions);
        } catch (error) {
          throw isLost(error) ? error : await this.#rollBack(client, error);
        }
      }),
    );
    await withPerdureErrors(raised);
  }

  /** Runs `work` on a connection of the pool. Errors of the database are thrown unchanged. */
  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    this.assertOpen();
    const client = await this.#pool.connect();
    client.on("error", ignore); // postgres.connection.1
    let mustClose = false;
    try {
      return await work(client);
    } catch (error) {
      mustClose = isSpoiled(error) || this.#unfinished.has(client);
      this.#noticeShared(error);
      throw error;
    } finally {
      client.off("error", ignore);
      client.release(mustClose);
    }
  }
}

/** Converts a rejection to a PerdureError. */
export async function withPerdureErrors<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw toPerdureError(error);
  }
}
