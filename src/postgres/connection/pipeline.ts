// Pipeline: several statements that are sent together on one connection and answered together.
//   - One Sync message ends the pipeline: the server runs the statements in order, each with its own
//       snapshot under READ COMMITTED, in one network round trip.
//   - The first statement that fails stops the rest, and the pipeline rejects with its error.
//   - Values travel as text, lists in binary (column-arrays.ts); rows come back as text. The column
//       names of a statement are requested once, so no statement may use `SELECT *`.
//   - A statement's name is a hash of its text, so two stores or two copies of this package can share a
//       connection.

import { createHash } from "node:crypto";
import type pg from "pg";
import type { Row } from "../../sql/columns.ts";
import type { NativeStep } from "../../sql/script/script.ts";
import { Wire, type WireValue } from "./wire.ts";

export type Value = string | number | boolean | WireValue | null;

/** Steps of this size are sent before the rest of the pipeline is encoded. */
const EARLY_BYTES = 65_536;

export class Statement {
  readonly text: string;
  readonly name: string;
  /** Null until the server has described the statement. */
  columns: readonly string[] | null = null;

  constructor(text: string) {
    this.text = text;
    this.name = `perdure_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
  }
}

/** The reply to one statement of a pipeline. */
export class Answer {
  readonly rows: Row[] = [];
  /** How many rows the statement returned or changed. */
  count = 0;
}

export interface Step {
  readonly statement: Statement;
  readonly values: readonly (string | WireValue | null)[];
  readonly answer: Answer;
}

/**
 * The names of statements that a connection has parsed, and of those it may or may not have parsed; and the
 * buffer of its pipelines.
 */
interface Session {
  readonly names: Set<string>;
  readonly doubtful: Set<string>;
  readonly wire: Wire;
}
const sessions = new WeakMap<pg.Connection, Session>();

export class Pipeline implements pg.Submittable, NativeStep {
  readonly isNative = true;
  readonly #steps: Step[] = [];
  readonly #done = Promise.withResolvers<void>();
  #prepare = false;
  #next = 0;
  #connection: pg.Connection | null = null;
  #settled = false;

  /** Begins with statements that have no parameters. */
  constructor(...statements: readonly Statement[]) {
    for (const statement of statements) this.add(statement);
  }

  add(statement: Statement, values: readonly Value[] = []): Answer {
    const answer = new Answer();
    this.#steps.push({ statement, values: values.map(toWire), answer });
    return answer;
  }

  /** Appends the steps of another pipeline. Running this pipeline fills the answers of both. */
  join(other: Pipeline): void {
    this.#steps.push(...other.#steps);
  }

  get isEmpty(): boolean {
    return this.#steps.length === 0;
  }

  /** For a caller that runs the steps one by one and fills the answers. */
  get steps(): readonly Step[] {
    return this.#steps;
  }

  /** Discards the answers, before the same steps are sent again. */
  forget(): void {
    for (const { answer } of this.#steps) {
      answer.rows.length = 0;
      answer.count = 0;
    }
  }

  /** Sends the pipeline. Resolves when every statement is answered and the connection is ready for more. */
  async run(client: pg.ClientBase, options: RunOptions): Promise<void> {
    this.#prepare = options.prepare;
    // On a half-open connection the answer never comes; only the timer notices.
    const timer = setTimeout(() => this.#connection?.stream.destroy(), options.answerMs);
    try {
      client.query(this);
      await this.#done.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  submit(connection: pg.Connection): void {
    this.#connection = connection;
    const session = sessionOf(connection);
    session.wire.reset(); // after an error there was no handleReadyForQuery
    const { stream } = connection;
    const sent = this.#writeSteps(stream, session);
    stream.cork();
    try {
      if (stream.writable) stream.write(session.wire.bytes.subarray(sent));
      connection.sync();
    } finally {
      stream.uncork();
    }
  }

  /** Sends large steps before the next ones are encoded, so that the server begins earlier. Returns the bytes sent. */
  #writeSteps(stream: pg.Connection["stream"], session: Session): number {
    const { wire } = session;
    let sent = 0;
    try {
      for (const step of this.#steps) {
        if (wire.position - sent >= EARLY_BYTES && stream.writable) {
          stream.write(wire.bytes.subarray(sent));
          sent = wire.position;
        }
        this.#write(step, session);
      }
    } catch (error) {
      if (sent > 0) stream.destroy(); // the server waits for the rest of the pipeline
      throw error;
    }
    return sent;
  }

  #write({ statement, values }: Step, { names, doubtful, wire }: Session): void {
    const name = this.#prepare ? statement.name : "";
    if (name === "" || !names.has(name)) {
      if (doubtful.delete(name)) wire.closeStatement(name);
      wire.parse(name, statement.text);
      if (name !== "") names.add(name);
    }
    wire.bind(name, values);
    if (statement.columns === null) wire.describePortal();
    wire.execute();
  }

  // ── called by the `pg` client as the answer comes in
  // ───────────────────────────────────────────────────────────

  handleRowDescription(message: { readonly fields: readonly { readonly name: string }[] }): void {
    const step = this.#steps[this.#next];
    if (step !== undefined) step.statement.columns = message.fields.map((field) => field.name);
  }

  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void {
    const step = this.#steps[this.#next];
    if (step === undefined) return;
    const row: Record<string, string | null> = {};
    const columns = step.statement.columns ?? [];
    for (let i = 0; i < columns.length; i++) row[columns[i] ?? ""] = message.fields[i] ?? null;
    step.answer.rows.push(row);
  }

  handleCommandComplete(message: { readonly text: string }): void {
    const step = this.#steps[this.#next++];
    if (step === undefined) return;
    step.statement.columns ??= [];
    step.answer.count = Number(/\d+$/.exec(message.text)?.[0] ?? 0);
  }

  handleEmptyQuery(): void {}

  handlePortalSuspended(): void {}

  handleReadyForQuery(): void {
    if (this.#connection !== null) sessionOf(this.#connection).wire.reset(); // an idle connection keeps no large buffer
    this.#settled = true;
    this.#done.resolve();
  }

  handleError(error: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    // The server did not read the statements after the failed one.
    if (this.#connection !== null) {
      const { names, doubtful } = sessionOf(this.#connection);
      for (const { statement } of this.#steps.slice(this.#next)) {
        if (names.delete(statement.name)) doubtful.add(statement.name);
      }
    }
    this.#done.reject(error);
  }
}

export interface RunOptions {
  readonly prepare: boolean;
  /** After this many milliseconds without an answer the connection is destroyed. */
  readonly answerMs: number;
}

/** Runs one statement with `send` and returns its rows. */
export async function rowsOf(
  send: (pipeline: Pipeline) => Promise<void>,
  statement: Statement,
  values: readonly Value[] = [],
): Promise<Row[]> {
  const pipeline = new Pipeline();
  const answer = pipeline.add(statement, values);
  await send(pipeline);
  return answer.rows;
}

function sessionOf(connection: pg.Connection): Session {
  let session = sessions.get(connection);
  if (session === undefined) {
    session = { names: new Set(), doubtful: new Set(), wire: new Wire() };
    sessions.set(connection, session);
  }
  return session;
}

function toWire(value: Value): string | WireValue | null {
  return typeof value === "object" || typeof value === "string" ? value : String(value);
}
