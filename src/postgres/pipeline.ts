// Pipeline: several statements on one connection, sent together and answered together.
//   P1. One Sync ends it: the server runs the statements in order, each with a snapshot of its own under READ
//       COMMITTED, and the network is crossed once.
//   P2. The first that fails stops the rest; the pipeline rejects with its error.
//   P3. Values travel as text, lists of text in binary (column-arrays.ts); rows come back as text. The names of a
//       statement's columns are asked for once, so no statement says `SELECT *`.
//   P4. A statement's name follows from its text: two stores, or two copies of this package, may share a connection.

import { createHash } from "node:crypto";
import type pg from "pg";
import type { Row } from "./columns.ts";

export type Value = string | number | boolean | Buffer | null;

export class Statement {
  readonly text: string;
  readonly name: string;
  /** Null until the server has named them. */
  columns: readonly string[] | null = null;

  constructor(text: string) {
    this.text = text;
    this.name = `perdure_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
  }
}

/** What one statement of a pipeline came to. */
export class Answer {
  readonly rows: Row[] = [];
  /** How many rows it returned or changed. */
  count = 0;
}

export interface Step {
  readonly statement: Statement;
  readonly values: readonly (string | Buffer | null)[];
  readonly answer: Answer;
}

/** What a connection is known to have parsed, and what it may or may not have. */
interface Parsed {
  readonly names: Set<string>;
  readonly doubtful: Set<string>;
}
const parsedBy = new WeakMap<pg.Connection, Parsed>();

export class Pipeline implements pg.Submittable {
  readonly #steps: Step[] = [];
  readonly #done = Promise.withResolvers<void>();
  #prepare = false;
  #next = 0;
  #connection: pg.Connection | null = null;
  #settled = false;

  add(statement: Statement, values: readonly Value[] = []): Answer {
    const answer = new Answer();
    this.#steps.push({ statement, values: values.map(toWire), answer });
    return answer;
  }

  /** Everything of another one, behind what is there; its answers are filled from here. */
  join(other: Pipeline): void {
    this.#steps.push(...other.#steps);
  }

  get isEmpty(): boolean {
    return this.#steps.length === 0;
  }

  /** For whoever runs them one by one; he fills the answers. */
  get steps(): readonly Step[] {
    return this.#steps;
  }

  /** Before the same steps are sent again: what they have brought so far does not count. */
  forget(): void {
    for (const { answer } of this.#steps) {
      answer.rows.length = 0;
      answer.count = 0;
    }
  }

  /** Sends it; resolves when everything is answered and the connection is ready for more. */
  async run(client: pg.ClientBase, options: RunOptions): Promise<void> {
    this.#prepare = options.prepare;
    // The answer may never come: a connection that is only half open is found out by the clock.
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
    const parsed = parsedOf(connection);
    const { stream } = connection;
    stream.cork();
    try {
      for (const step of this.#steps) this.#send(connection, step, parsed);
      connection.sync();
    } finally {
      stream.uncork();
    }
  }

  #send(connection: pg.Connection, { statement, values }: Step, parsed: Parsed): void {
    const name = this.#prepare ? statement.name : "";
    if (name === "" || !parsed.names.has(name)) {
      if (parsed.doubtful.delete(name)) connection.close({ type: "S", name }, true);
      connection.parse({ name, text: statement.text, types: [] }, true);
      if (name !== "") parsed.names.add(name);
    }
    connection.bind({ portal: "", statement: name, values: [...values] }, true);
    if (statement.columns === null) connection.describe({ type: "P", name: "" }, true);
    connection.execute({ portal: "", rows: "" }, true);
  }

  // ── what the client calls as the answer comes in ───────────────────────────────────────────────────────────

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
    this.#settled = true;
    this.#done.resolve();
  }

  handleError(error: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    // What stood behind the failed statement was never looked at.
    if (this.#connection !== null) {
      const { names, doubtful } = parsedOf(this.#connection);
      for (const { statement } of this.#steps.slice(this.#next)) {
        if (names.delete(statement.name)) doubtful.add(statement.name);
      }
    }
    this.#done.reject(error);
  }
}

export interface RunOptions {
  readonly prepare: boolean;
  /** An answer that takes longer than this never comes. */
  readonly answerMs: number;
}

function parsedOf(connection: pg.Connection): Parsed {
  let parsed = parsedBy.get(connection);
  if (parsed === undefined) {
    parsedBy.set(connection, (parsed = { names: new Set(), doubtful: new Set() }));
  }
  return parsed;
}

function toWire(value: Value): string | Buffer | null {
  if (value === null || typeof value === "string" || Buffer.isBuffer(value)) return value;
  return String(value);
}
