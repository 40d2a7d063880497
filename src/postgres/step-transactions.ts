// Step transactions: the user's statements and the step's fenced outcome, both or neither (semantics 33).
//   ST1. On connections of their own, so many at a time, so that no function of a user's keeps the engine from a
//        connection of its own; of a user's pool at most half.
//   ST2. The user's statements are run under nothing of ours: no lock, no setting, no snapshot. The outcome, its fence
//        and the COMMIT follow in one round trip. So a function may take its time.
//   ST3. What the server said about the user's statements is heard, whatever his code makes of it: what passes by
//        itself is thrown and tried again (TX3), what his statements did wrong is his.
//   ST4. The client is the user's until his function has returned, and then no more.

import type pg from "pg";
import { PerdureError } from "../core/errors.ts";
import type { StepOutcomeItem } from "../core/provider/commit.ts";
import { LEASE_LOST } from "../core/provider/results.ts";
import type { Transacted } from "../core/provider/transactions.ts";
import { told, type Connection } from "./connection.ts";
import { isLost, isRefused, isUsersFault, passesFor, sqlState, toPerdureError } from "./errors.ts";
import type { Instances } from "./instances.ts";
import { NewsDraft } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import { Pipeline, Statement } from "./pipeline.ts";
import { Slots } from "./slots.ts";
import { FENCED, type StepOutcomes } from "./step-outcomes.ts";

type Work = (transaction: unknown) => StepOutcomeItem | null | Promise<StepOutcomeItem | null>;

export interface StepConnections {
  readonly count: number;
  connect(): Promise<pg.PoolClient>;
}

const BEGIN = new Statement("BEGIN ISOLATION LEVEL READ COMMITTED");
const ROLLBACK = new Statement("ROLLBACK");
const RUN_OPTIONS = { prepare: false, answerMs: 30_000 };
/** What a transaction is refused with that is not the one that was begun. */
const ENDED = "ended by its user";
const ignore = (): void => {};

export interface StepParts {
  readonly instances: Instances;
  readonly stepOutcomes: StepOutcomes;
  readonly notifier: Notifier;
}

export class StepTransactions {
  readonly #connection: Connection;
  readonly #connections: StepConnections;
  readonly #parts: StepParts;
  readonly #slots: Slots;
  readonly #stillOpen: Statement;

  constructor(connection: Connection, connections: StepConnections, parts: StepParts) {
    this.#connection = connection;
    this.#connections = connections;
    this.#parts = parts;
    this.#slots = new Slots(connections.count);
    this.#stillOpen = connection.prepare(`
      SELECT @refuse('${ENDED}') WHERE current_setting('perdure.step', true) IS DISTINCT FROM $1::text`);
  }

  async transact(work: Work): Promise<Transacted> {
    const giveBack = await this.#slots.take();
    try {
      this.#connection.assertOpen();
      this.#connection.assertWritable();
      const client = await told(this.#connections.connect());
      client.on("error", ignore); // told to whoever waits for its answer
      const ears = new Ears(client);
      try {
        return await this.#on(client, ears, work);
      } finally {
        ears.close();
        client.off("error", ignore);
        client.release(!ears.isIdle);
      }
    } finally {
      giveBack();
    }
  }

  async #on(client: pg.PoolClient, ears: Ears, work: Work): Promise<Transacted> {
    // A setting that ends with the transaction tells whether it is still the same; to set it takes no snapshot.
    const mark = this.#connection.environment.randomHex(8);
    const begun = new Pipeline();
    begun.add(BEGIN);
    begun.add(new Statement(`SET LOCAL perdure.step = '${mark}'`));
    await told(begun.run(client, RUN_OPTIONS));
    ears.clear();
    const lent = lend(client);
    let item: StepOutcomeItem | null;
    try {
      item = await work(lent.client);
    } finally {
      lent.end();
    }
    if (item === null) {
      await rollBack(client, ears);
      if (ears.passing !== null) throw toPerdureError(ears.passing);
      return { kind: "rolledBack" };
    }
    return this.#commit(client, ears, { item, mark });
  }

  async #commit(
    client: pg.PoolClient,
    ears: Ears,
    { item, mark }: { readonly item: StepOutcomeItem; readonly mark: string },
  ): Promise<Transacted> {
    const { instances, stepOutcomes, notifier } = this.#parts;
    const news = new NewsDraft();
    const pipeline = new Pipeline();
    pipeline.add(this.#stillOpen, [mark]);
    instances.lock(pipeline, { keys: [item.key], ids: [] });
    const read = stepOutcomes.recordOrRefuse(pipeline, item, news);
    try {
      await this.#connection.finish(client, pipeline);
    } catch (error) {
      if (isLost(error)) throw toPerdureError(error);
      await rollBack(client, ears);
      return judged(error, ears);
    }
    ears.isIdle = true;
    read();
    notifier.publish(news);
    return { kind: "done" };
  }
}

/** What an end that failed says about the transaction. Throws what passes by itself. */
function judged(error: unknown, ears: Ears): Transacted {
  if (isRefused(error)) {
    const { message } = error instanceof Error ? error : { message: "" };
    if (message === ENDED) return { kind: "rolledBack", why: endedByUser() };
    if (message === FENCED) return LEASE_LOST;
    throw toPerdureError(error);
  }
  if (sqlState(error) === "25P02") {
    if (ears.passing !== null) throw toPerdureError(ears.passing);
    return { kind: "rolledBack", why: wentOn(ears.first ?? error) };
  }
  if (isUsersFault(error)) return { kind: "rolledBack", why: notCommitted(error) };
  throw toPerdureError(error);
}

/** ST3 */
class Ears {
  readonly #client: pg.PoolClient;
  /** The first error of the server's, and the last one that passes by itself. */
  first: unknown = null;
  passing: unknown = null;
  /** Nothing is open on the connection: others may have it. */
  isIdle = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
    client.connection.on("errorMessage", this.#hear);
    client.on("end", this.#lose);
  }

  clear(): void {
    this.first = null;
    this.passing = null;
  }

  close(): void {
    this.#client.connection.off("errorMessage", this.#hear);
    this.#client.off("end", this.#lose);
  }

  readonly #hear = (error: unknown): void => {
    if (sqlState(error) === "25P02") return; // an echo of the one before
    this.first ??= error;
    if (passesFor(error)) this.passing = error;
  };

  readonly #lose = (): void => {
    this.passing = new PerdureError("STORE_UNAVAILABLE", "The connection to PostgreSQL was lost.");
  };
}

/** ST4 */
function lend(client: pg.PoolClient): { readonly client: pg.PoolClient; end(): void } {
  let isOver = false;
  const lent = new Proxy(client, {
    get(target, property): unknown {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      if (property === "release" || property === "end" || property === "connect") return notYours;
      if (property === "query" && isOver) return overAlready;
      return value.bind(target) as unknown;
    },
  });
  return {
    client: lent,
    end: () => {
      isOver = true;
    },
  };
}

function notYours(): never {
  const message = "The connection of ctx.tx is Perdure's: run statements on it, nothing else.";
  throw new PerdureError("INVALID_ARGUMENT", message);
}

async function overAlready(): Promise<never> {
  const message = "The transaction of ctx.tx is over: its function has returned.";
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** Nothing of it was committed, whether this succeeds or the connection is gone. */
async function rollBack(client: pg.PoolClient, ears: Ears): Promise<void> {
  const end = new Pipeline();
  end.add(ROLLBACK);
  await told(end.run(client, RUN_OPTIONS));
  ears.isIdle = true;
}

function endedByUser(): PerdureError {
  const message = "The function of ctx.tx ended its transaction itself; leave that to Perdure.";
  return new PerdureError("INVALID_ARGUMENT", message);
}

function wentOn(cause: unknown): PerdureError {
  const said = cause instanceof Error ? cause.message : String(cause);
  const message = `A statement of ctx.tx failed and its function went on as if it had not: ${said}. Let the error out, or go back to a savepoint.`;
  return new PerdureError("INVALID_ARGUMENT", message, { cause });
}

function notCommitted(cause: unknown): PerdureError {
  const said = cause instanceof Error ? cause.message : String(cause);
  const message = `The transaction of ctx.tx cannot be committed: ${said}.`;
  return new PerdureError("INVALID_ARGUMENT", message, { cause });
}
