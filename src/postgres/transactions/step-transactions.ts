// Step transactions: commit the user's statements and the fenced outcome of the step together (semantics 33).
//   - They use separate connections, limited in number, so that the functions of users cannot take the
//     engine's connections; of a user's pool they use at most half.
//   - While the user's statements run, Perdure holds no lock, changes no setting and takes no snapshot. The
//     outcome, its fence and the COMMIT follow in one round trip. So a function may take a long time.
//   - step-transactions.1: Perdure sees the server's errors even if the user's code swallows them. A
//     transient error is thrown and the step is retried (provider.transactions.3); an error caused by the
//     user's statements fails the step.
//   - step-transactions.2: The user may use the client only until their function returns.
//   - step-transactions.3: A timeout of the role for transactions (idle_in_transaction_session_timeout) closes
//     the connection. The same function would exceed it again, so the step fails and is not retried forever.

import type pg from "pg";
import { PerdureError, errorMessage } from "../../core/errors/errors.ts";
import type { StepOutcomeItem } from "../../core/provider/commit.ts";
import { LEASE_LOST } from "../../core/provider/results.ts";
import {
  endedByUser,
  type Transacted,
  type TransactionStore,
} from "../../core/provider/transactions.ts";
import { withPerdureErrors, type Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import {
  endsLongTransactions,
  isLost,
  isRefused,
  isUsersFault,
  passesFor,
  sqlState,
  toPerdureError,
} from "../connection/errors.ts";
import type { Instances } from "../read/instances.ts";
import { ChangeDraft } from "../notify/change-draft.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import { Pipeline, Statement } from "../connection/pipeline.ts";
import { Semaphore } from "../connection/semaphore.ts";
import { FENCED, type StepOutcomes } from "../write/step-outcomes.ts";

type StepFunction = Parameters<TransactionStore["transact"]>[0];

export interface StepConnections {
  readonly count: number;
  connect(): Promise<pg.PoolClient>;
}

const BEGIN = new Statement("BEGIN ISOLATION LEVEL READ COMMITTED");
const ROLLBACK = new Statement("ROLLBACK");
const RUN_OPTIONS = { prepare: false, answerMs: 30_000 };
/** The message of the refusal when the user's function has ended the transaction. */
const ENDED = "ended by its user";
const ignore = (): void => {};

export interface StepParts {
  readonly instances: Instances;
  readonly stepOutcomes: StepOutcomes;
  readonly notifier: ChangeNotifier;
}

export class StepTransactions extends Subject {
  readonly #connections: StepConnections;
  readonly #parts: StepParts;
  readonly #slots: Semaphore;
  readonly #stillOpen = this.prepare(`
    SELECT @refuse('${ENDED}') WHERE current_setting('perdure.step', true) IS DISTINCT FROM $1::text`);

  constructor(connection: Connection, connections: StepConnections, parts: StepParts) {
    super(connection);
    this.#connections = connections;
    this.#parts = parts;
    this.#slots = new Semaphore(connections.count);
  }

  async transact(run: StepFunction): Promise<Transacted> {
    const releaseSlot = await this.#slots.acquire();
    try {
      this.connection.assertOpen();
      this.connection.assertWritable();
      const client = await withPerdureErrors(this.#connections.connect());
      client.on("error", ignore); // the pending statement gets the error
      const errors = new ServerErrors(client);
      try {
        return await this.#runOn(client, errors, run);
      } finally {
        errors.close();
        client.off("error", ignore);
        client.release(!errors.isIdle);
      }
    } finally {
      releaseSlot();
    }
  }

  async #runOn(
    client: pg.PoolClient,
    errors: ServerErrors,
    run: StepFunction,
  ): Promise<Transacted> {
    // A setting local to the transaction identifies it at the end. Setting it takes no snapshot.
    const mark = this.connection.environment.randomHex(8);
    const begin = new Pipeline(BEGIN, new Statement(`SET LOCAL perdure.step = '${mark}'`));
    await withPerdureErrors(begin.run(client, RUN_OPTIONS));
    errors.clear();
    const borrowed = borrow(client);
    let item: StepOutcomeItem | null;
    try {
      item = await run(borrowed.client);
    } finally {
      borrowed.end();
    }
    if (errors.timeout !== null) return { kind: "rolledBack", why: tookTooLong(errors.timeout) };
    if (item === null) {
      await rollBack(client, errors);
      if (errors.transient !== null) throw toPerdureError(errors.transient);
      return { kind: "rolledBack" };
    }
    return this.#commit(client, errors, { item, mark });
  }

  async #commit(
    client: pg.PoolClient,
    errors: ServerErrors,
    { item, mark }: { readonly item: StepOutcomeItem; readonly mark: string },
  ): Promise<Transacted> {
    const { instances, stepOutcomes, notifier } = this.#parts;
    const changes = new ChangeDraft();
    const pipeline = new Pipeline();
    pipeline.add(this.#stillOpen, [mark]);
    instances.lock(pipeline, { keys: [item.key], ids: [] });
    const read = stepOutcomes.recordOrRefuse(pipeline, item, changes);
    try {
      await this.connection.finish(client, pipeline);
    } catch (error) {
      if (errors.timeout !== null) return { kind: "rolledBack", why: tookTooLong(errors.timeout) };
      if (isLost(error)) throw toPerdureError(error);
      await rollBack(client, errors);
      return failureOf(error, errors);
    }
    errors.isIdle = true;
    read();
    notifier.publish(changes);
    return { kind: "done" };
  }
}

/** The result of a commit that failed. Throws if the error is transient. */
function failureOf(error: unknown, errors: ServerErrors): Transacted {
  if (isRefused(error)) {
    const { message } = error instanceof Error ? error : { message: "" };
    if (message === ENDED) return { kind: "rolledBack", why: endedByUser() };
    if (message === FENCED) return LEASE_LOST;
    throw toPerdureError(error);
  }
  if (sqlState(error) === "25P02") {
    if (errors.transient !== null) throw toPerdureError(errors.transient);
    return { kind: "rolledBack", why: errorIgnored(errors.first ?? error) };
  }
  if (isUsersFault(error)) return { kind: "rolledBack", why: notCommitted(error) };
  throw toPerdureError(error);
}

/** Records the errors that the server sends on a connection (step-transactions.1). */
class ServerErrors {
  readonly #client: pg.PoolClient;
  /** The first error. */
  first: unknown = null;
  /** The last transient error. */
  transient: unknown = null;
  /** The server has ended the transaction because it took too long (step-transactions.3). */
  timeout: unknown = null;
  /** No transaction is open on the connection: it can go back to the pool. */
  isIdle = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
    client.connection.on("errorMessage", this.#onError);
    client.on("end", this.#onEnd);
  }

  clear(): void {
    this.first = null;
    this.transient = null;
  }

  close(): void {
    this.#client.connection.off("errorMessage", this.#onError);
    this.#client.off("end", this.#onEnd);
  }

  readonly #onError = (error: unknown): void => {
    if (sqlState(error) === "25P02") return; // a consequence of the previous error
    this.first ??= error;
    if (endsLongTransactions(error)) this.timeout = error;
    if (passesFor(error)) this.transient = error;
  };

  readonly #onEnd = (): void => {
    const message = "The connection to PostgreSQL was lost.";
    this.transient = new PerdureError("STORE_UNAVAILABLE", message);
  };
}

/** A proxy of the client that stops working when `end` is called (step-transactions.2). */
function borrow(client: pg.PoolClient): { readonly client: pg.PoolClient; end(): void } {
  let hasEnded = false;
  const borrowed = new Proxy(client, {
    get(target, property): unknown {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      if (property === "release" || property === "end" || property === "connect") return notAllowed;
      if (property === "query" && hasEnded) return transactionEnded;
      return value.bind(target) as unknown;
    },
  });
  return {
    client: borrowed,
    end: () => {
      hasEnded = true;
    },
  };
}

function notAllowed(): never {
  const message =
    "The connection of ctx.tx belongs to Perdure: run statements on it, but do not connect, release or end it.";
  throw new PerdureError("INVALID_ARGUMENT", message);
}

async function transactionEnded(): Promise<never> {
  const message =
    "The transaction of ctx.tx has ended, because its function has returned. Await every statement in it.";
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** Even if this fails, nothing was committed. */
async function rollBack(client: pg.PoolClient, errors: ServerErrors): Promise<void> {
  await withPerdureErrors(new Pipeline(ROLLBACK).run(client, RUN_OPTIONS));
  errors.isIdle = true;
}

function errorIgnored(cause: unknown): PerdureError {
  const detail = errorMessage(cause);
  const message = `A statement in ctx.tx failed, and its function ignored the error: ${detail}. Let the error propagate, or roll back to a savepoint.`;
  return new PerdureError("INVALID_ARGUMENT", message, { cause });
}

function tookTooLong(cause: unknown): PerdureError {
  const detail = errorMessage(cause);
  const message = `The transaction of ctx.tx took too long, and the server ended it: ${detail}. Move work that waits for something else out of ctx.tx, or raise the timeout of the role.`;
  return new PerdureError("INVALID_ARGUMENT", message, { cause });
}

function notCommitted(cause: unknown): PerdureError {
  const detail = errorMessage(cause);
  const message = `The transaction of ctx.tx cannot be committed: ${detail}.`;
  return new PerdureError("INVALID_ARGUMENT", message, { cause });
}
