// The limit's rows on PostgreSQL: the provider's own schema, and the bare statements.
//   - A group is one transaction in one round trip: each kind of row one statement over lists, all pipelined.
//   - postgres-rows.1: One statement writes an instance once; a group in which an instance has several turns runs in several waves.

import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import pg from "pg";
import { plain } from "../../src/postgres/sql/column-arrays.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import {
  Pipeline,
  type Answer,
  type Statement,
  type Value,
} from "../../src/postgres/connection/pipeline.ts";
import type { Database } from "../subject.ts";
import { pairOf } from "./event-pair.ts";
import { ONE, prepareStatements, TASKS, TURNS, type Statements } from "./postgres-statements.ts";
import type { Rows, RowWrite, TurnRows } from "./rows.ts";

const WIRE = { prepare: true, answerMs: 60_000 };
/** Plans are generic and use the index, as in the provider. */
const PLANNING = [
  ...["enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off", "jit=off"],
  "plan_cache_mode=force_generic_plan",
];

export async function openPostgresRows({ url, schema }: Database): Promise<Rows> {
  await PostgresProvider.migrate(url, { schema });
  const options = [`search_path=${schema}`, ...PLANNING].map((one) => `-c ${one}`).join(" ");
  const client = new pg.Client({ connectionString: url, options });
  await client.connect();
  const statements = await prepareStatements(client);
  return {
    commit: async (group) => {
      const written = new Group(statements);
      for (const wave of waves(group)) written.add(wave);
      await written.commit(client);
    },
    history: async (key) => {
      const found = await client.query<{ data: string }>({
        name: "history",
        text: "SELECT data FROM history WHERE instance = $1 AND execution = 1 ORDER BY first",
        values: [key],
      });
      return found.rows.map(({ data }) => data);
    },
    ended: async () => {
      const found = await client.query<{ ended: string }>(
        "SELECT count(*) AS ended FROM instances WHERE status = 'completed'",
      );
      return Number(found.rows[0]?.ended);
    },
    close: () => client.end(),
  };
}

class Group {
  readonly #statements: Statements;
  readonly #pipeline = new Pipeline();
  readonly #now = Date.now();
  readonly #written: { readonly answer: Answer; readonly rows: number }[] = [];

  constructor(statements: Statements) {
    this.#statements = statements;
    this.#pipeline.add(statements.begin);
  }

  add(wave: readonly RowWrite[]): void {
    const now = this.#now;
    const { advance, end, deleteTasks, deleteMessages, ...inserts } = this.#statements;
    const { insertInstances, insertHistory, insertTasks, insertMessages } = inserts;
    const turns = wave.filter((write) => write.kind === "turn");
    this.#write(insertInstances, startsOf(wave, now));
    const advanced = (ended: boolean) =>
      turns
        .filter((turn) => (turn.ended ?? false) === ended)
        .map(({ key, first }) => ({ key, last: first + 1, ...ONE }));
    this.#write({ statement: advance, columns: TURNS }, advanced(false), now);
    this.#write({ statement: end, columns: TURNS }, advanced(true), now);
    const events = turns.map(({ key, first, payload }) => {
      return { key, first, data: pairOf(now, first, payload) };
    });
    this.#write(insertHistory, events);
    const consumed = turns.flatMap((turn) => (turn.consumed === undefined ? [] : [turn.consumed]));
    this.#write({ statement: deleteMessages, columns: IDS }, consumed);
    this.#write({ statement: deleteTasks, columns: TASKS }, tasksOf(turns, "finished", now));
    this.#write(insertTasks, tasksOf(turns, "begun", now));
    this.#write(insertMessages, messagesOf(wave, now));
  }

  async commit(client: pg.Client): Promise<void> {
    this.#pipeline.add(this.#statements.commit);
    await this.#pipeline.run(client, WIRE);
    for (const { answer, rows } of this.#written) assert.equal(answer.count, rows, "rows written");
  }

  #write<Row>({ statement, columns }: Write<Row>, rows: readonly Row[], ...more: number[]): void {
    if (rows.length === 0) return;
    const answer = this.#pipeline.add(statement, [...columns.values(rows), ...more]);
    this.#written.push({ answer, rows: rows.length });
  }
}

interface Write<Row> {
  readonly statement: Statement;
  readonly columns: { values(rows: readonly Row[]): Value[] };
}
const IDS = { values: (ids: readonly number[]): Value[] => [plain(ids)] };

function startsOf(wave: readonly RowWrite[], now: number) {
  return wave.flatMap(({ kind, key }) =>
    kind === "start" ? [{ key, now, id: randomBytes(16).toString("hex"), run: `run-${key}` }] : [],
  );
}

function tasksOf(turns: readonly TurnRows[], which: "finished" | "begun", now: number) {
  return turns.flatMap((turn) =>
    (turn[which] ?? []).map((sequence) => ({ key: turn.key, sequence, now, ...ONE })),
  );
}

function messagesOf(wave: readonly RowWrite[], now: number) {
  return wave.flatMap((write) => {
    const { key } = write;
    if (write.kind === "send") return [{ id: write.message, key, visible_at: now, kind: "event" }];
    if (write.kind !== "turn" || write.timer === undefined) return [];
    const { message, dueAt } = write.timer;
    return [{ id: message, key, visible_at: dueAt, kind: "timer" }];
  });
}

/** postgres-rows.1 */
function waves(group: readonly RowWrite[]): RowWrite[][] {
  const found: RowWrite[][] = [];
  let keys = new Set<number>();
  for (const write of group) {
    const wave = found.at(-1);
    if (wave === undefined || keys.has(write.key)) {
      found.push([write]);
      keys = new Set();
    } else {
      wave.push(write);
    }
    keys.add(write.key);
  }
  return found;
}
