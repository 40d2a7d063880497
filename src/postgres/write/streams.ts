// Streams: what turns and activities write to the streams of their instances (provider.streams).
//   - postgres.streams.1: Every transaction locks instances and tasks first, then the rows of the streams, in one
//     order, then the rows of their calls. The lock of a stream makes its offsets dense. The lock of a task
//     excludes a takeover, and all other appends of its call.
//   - postgres.streams.2: In one round trip, the batch assumes that every task is held, every stream is open, and
//     every append either continues its run or is the first one of its call. Otherwise the transaction is refused.
//     The stepwise mode locks everything, decides (`check`), and writes the appends that pass.
//   - postgres.streams.3: An outcome settles the rows with the token of its claim. So it settles only what the
//     successful run wrote, not what an earlier run of the call wrote to another stream.
//   - postgres.streams.4: The statement that settles the items also compares their number with the claim
//     (provider.streams.7), and refuses the transaction if items are missing. The stepwise mode compares it before it
//     writes anything. The lock of the task keeps the number.
//   - A group that writes to no stream adds no statement.

import type { CompletionItem, TurnItem } from "../../core/provider/commit.ts";
import { DONE, LEASE_LOST } from "../../core/provider/results.ts";
import {
  itemsChunk,
  planAppend,
  type NewChunk,
  type StoredStream,
  type StoredStreamCall,
} from "../../core/provider/shared/streams.ts";
import type { AppendItem, AppendResult } from "../../core/provider/streams.ts";
import type { TaskClaim } from "../../core/provider/tasks.ts";
import { flag, integer, text, type Row } from "../../sql/columns.ts";
import { indexEquals } from "../../sql/index-lookup.ts";
import { checksumOfContents } from "../../sql/rows/stream-rows.ts";
import type { Connection } from "../connection/connection.ts";
import { Pipeline, type Answer } from "../connection/pipeline.ts";
import type { Statements } from "../connection/statements.ts";
import { Subject } from "../connection/subject.ts";
import { ADDRESS, addressColumns, inOrder, matchingRows } from "../lease/task-keys.ts";
import type { TaskRenewal } from "../lease/task-renewal.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";

/** What one item writes to one stream. The server assigns the offsets of the chunks. */
export interface StreamEntry {
  readonly instance: number;
  readonly name: string;
  readonly chunks: readonly NewChunk[];
  readonly closes: boolean;
  /** If the stream is closed, the transaction is refused. */
  readonly mustBeOpen: boolean;
  /** Null: a turn writes. */
  readonly call: CallChange | null;
}

/** How the row of a call changes: "begin" inserts it, "restart" begins another run. */
interface CallChange {
  readonly effect: "begin" | "continue" | "restart";
  readonly run: string;
  readonly token: number;
  /** The number of values of the run, with those of this entry. */
  readonly written: number;
}

/** What the stepwise mode has decided. */
export interface CheckedStreams {
  /** The results of all appends, and of the completions that are refused. */
  readonly results: ReadonlyMap<AppendItem | CompletionItem, AppendResult>;
  readonly entries: readonly StreamEntry[];
  /** The claims of completions that hold and settle streams. */
  readonly settled: readonly TaskClaim[];
}

export interface StreamItems {
  readonly turns: readonly TurnItem[];
  readonly appends: readonly AppendItem[];
  readonly completions: readonly CompletionItem[];
}

const STREAMS = new ColumnArrays({
  ...columns("bigint", "instance", "total"),
  closes: "boolean",
  name: "text",
});
const CHUNKS = new ColumnArrays({
  ...columns("bigint", "instance", "execution", "call", "count", "ahead", "checksum"),
  ...columns("bigint", "token", "written"),
  must_be_open: "boolean",
  ...columns("text", "name", "kind", "data", "effect", "run"),
});
const NAMES = new ColumnArrays({ instance: "bigint", name: "text" });
const CALLS = new ColumnArrays({ ...ADDRESS, name: "text" });
const CLAIMS = new ColumnArrays({ ...ADDRESS, ...columns("bigint", "token", "expected") });

const IS_STREAM = `${indexEquals("s.instance", "t.instance")} AND s.name = t.name`;
const isCall = (row: string, call: string): string =>
  `${indexEquals("c.instance", `${row}.instance`)} AND c.execution = ${row}.execution AND c.call = ${row}.${call}`;
/** The ids of the instances that were written to (index-lookup.1). */
const IDS = `
  SELECT i.id FROM written AS w
  CROSS JOIN LATERAL (SELECT x.id FROM @instances AS x WHERE x.key = w.instance OFFSET 0) AS i`;

export class Streams extends Subject {
  readonly #taskRenewal: TaskRenewal;
  readonly #advance = this.prepare(`
    WITH written AS (
      INSERT INTO @streams AS s (instance, name, first, next, closed, updated_at)
      SELECT t.instance, t.name, 0, t.total, t.closes, (SELECT @clock()) FROM ${STREAMS.from("t")} ORDER BY t.n
      ON CONFLICT (instance, name) DO UPDATE SET
        next = s.next + excluded.next, closed = s.closed OR excluded.closed, updated_at = excluded.updated_at
      RETURNING instance
    ) ${IDS}`);
  readonly #insert = this.prepare(`
    WITH placed AS MATERIALIZED (
      SELECT t.instance, t.execution, t.call, t.count, t.checksum, t.token, t.written, t.name, t.kind, t.data,
        t.effect, t.run, s.next - t.ahead AS first, s.next - t.ahead + t.count - 1 AS last
      FROM ${CHUNKS.from("t")} JOIN @streams AS s ON ${IS_STREAM}
      WHERE CASE WHEN t.must_be_open AND s.closed THEN @refuse('a stream is closed') IS NULL ELSE true END
    ), chunks AS (
      INSERT INTO @stream_chunks (instance, name, first, count, execution, call, kind, data, checksum)
      SELECT instance, name, first, count, execution, call, kind, data, @checksum_with(checksum, first) FROM placed
    ), begun AS (
      INSERT INTO @stream_calls (
        instance, execution, call, name, lease_token, run, since, run_since, written, last, settled
      )
      SELECT instance, execution, call, name, token, run, first, first, written, last, false
      FROM placed WHERE effect = 'begin'
      ON CONFLICT DO NOTHING RETURNING 1
    ), continued AS (
      UPDATE @stream_calls AS c SET
        lease_token = p.token, run = p.run, written = p.written, last = p.last,
        run_since = CASE WHEN p.effect = 'restart' THEN p.first ELSE c.run_since END
      FROM placed AS p
      WHERE ${isCall("p", "call")} AND c.name = p.name AND (
        p.effect = 'restart'
        OR (p.effect = 'continue' AND c.run = p.run AND c.written = p.written - p.count))
      RETURNING 1
    )
    SELECT @refuse('an append does not continue its run') FROM (
      SELECT (SELECT count(*) FROM begun) + (SELECT count(*) FROM continued) AS found) AS f
    WHERE found <> $${CHUNKS.width + 1}::bigint`);
  // postgres.streams.3, postgres.streams.4
  readonly #settle = this.prepare(`
    WITH written AS (
      UPDATE @stream_calls AS c SET settled = true FROM ${CLAIMS.from("t")}
      WHERE ${isCall("t", "sequence")} AND c.lease_token = t.token RETURNING c.instance, t.n, c.written AS count
    ) ${IDS}
    UNION ALL SELECT @refuse('values of an attempt are missing') FROM ${CLAIMS.from("t")}
    WHERE t.expected > coalesce((SELECT sum(w.count) FROM written AS w WHERE w.n = t.n), 0)`);
  readonly #selectShort = this.prepare(`
    SELECT t.n FROM ${CLAIMS.from("t")} WHERE t.expected > coalesce((
      SELECT sum(c.written) FROM @stream_calls AS c
      WHERE ${isCall("t", "sequence")} AND c.lease_token = t.token), 0)`);
  readonly #create = this.prepare(`
    INSERT INTO @streams (instance, name, first, next, closed, updated_at)
    SELECT t.instance, t.name, 0, 0, false, (SELECT @clock()) FROM ${NAMES.from("t")} ORDER BY t.n
    ON CONFLICT DO NOTHING`);
  readonly #lock = this.prepare(`
    SELECT t.n, s.next, s.closed FROM ${NAMES.from("t")} JOIN @streams AS s ON ${IS_STREAM}
    FOR NO KEY UPDATE OF s`);
  readonly #selectCalls = this.prepare(`
    SELECT t.n, c.run, c.since, c.run_since, c.written
    FROM ${CALLS.from("t")} JOIN @stream_calls AS c ON ${isCall("t", "sequence")} AND c.name = t.name`);

  constructor(connection: Connection, taskRenewal: TaskRenewal) {
    super(connection);
    this.#taskRenewal = taskRenewal;
  }

  /**
   * The transaction must hold the tasks of the appends and the instances of the turns. Call the returned function
   * after the pipeline has run: it adds the instances to `changes`.
   */
  write(
    pipeline: Pipeline,
    entries: readonly StreamEntry[],
    settled: readonly TaskClaim[],
    changes: ChangeDraft,
  ): () => void {
    const answers: Answer[] = [];
    if (entries.length > 0) {
      const streams = byStream(entries);
      answers.push(pipeline.add(this.#advance, STREAMS.values(streams.map(toStreamColumns))));
      const chunks = streams.flatMap(toChunkColumns);
      const callCount = chunks.filter(({ effect }) => effect !== null).length;
      if (chunks.length > 0) pipeline.add(this.#insert, [...CHUNKS.values(chunks), callCount]);
    }
    if (settled.length > 0) {
      answers.push(pipeline.add(this.#settle, CLAIMS.values(inOrder(settled.map(toClaimColumns)))));
    }
    return () => {
      for (const { rows } of answers) for (const row of rows) changes.streamed(text(row, "id"));
    };
  }

  /** postgres.streams.2 */
  async check(
    statements: Statements,
    { appends, turns, completions }: StreamItems,
  ): Promise<CheckedStreams> {
    const settling = completions.filter(({ task }) => task.streamValues !== undefined);
    const results = new Map<AppendItem | CompletionItem, AppendResult>();
    if (appends.length + settling.length === 0) return { results, entries: [], settled: [] };
    const claims = [...appends, ...settling].map(({ task }) => task);
    const held = await this.#taskRenewal.lockHeld(statements, claims);
    const short = await this.short(statements, [...held]);
    for (const item of settling) if (short.has(item.task)) results.set(item, LEASE_LOST);
    const settled = settling.flatMap(({ task }) =>
      held.has(task) && !short.has(task) ? [task] : [],
    );
    for (const item of appends) if (!held.has(item.task)) results.set(item, LEASE_LOST);
    const passed = appends.filter(({ task }) => held.has(task));
    const { streams, calls } = await this.#lockAll(statements, passed, entriesOf(turns));
    const entries: StreamEntry[] = [];
    for (const item of passed) {
      const key = keyOf(item.task.key, item.name);
      const call = calls.get(item) ?? null;
      const plan = planAppend(item, streams.get(key) ?? NEW_STREAM, call);
      results.set(item, plan.kind === "write" ? DONE : plan);
      if (plan.kind !== "write") continue;
      const { chunks, next, beginsRun } = plan;
      streams.set(key, { next, isClosed: false });
      const begun = call === null ? "begin" : "restart";
      const effect = beginsRun ? begun : "continue";
      const { run, written } = plan.call;
      const change = { effect, run, token: item.task.token, written } as const;
      entries.push({ ...targetOf(item), chunks, mustBeOpen: false, call: change });
    }
    return { results, entries, settled };
  }

  /** The claims with missing values (provider.streams.7). Their tasks must be locked (postgres.streams.4). */
  async short(statements: Statements, claims: readonly TaskClaim[]): Promise<Set<TaskClaim>> {
    const counted = claims.filter(({ streamValues }) => streamValues !== undefined);
    if (counted.length === 0) return new Set();
    const columns = counted.map((claim) => ({ ...toClaimColumns(claim), claim }));
    const rows = await statements.run(this.#selectShort, CLAIMS.values(columns));
    return new Set(matchingRows(rows, columns).map(({ claim }) => claim));
  }

  /**
   * Locks the streams of the appends and of the turns. A stream that does not exist is created if an append or a
   * turn writes its first entries: then nothing can refuse them.
   */
  async #lockAll(
    statements: Statements,
    appends: readonly AppendItem[],
    written: readonly StreamEntry[],
  ) {
    const first = appends.filter(({ position }) => position === 0).map(targetOf);
    const names = distinct([...written, ...appends.map(targetOf)]);
    const columns = appends.map(({ task, name }) => ({ ...addressColumns(task), name }));
    const pipeline = new Pipeline();
    pipeline.add(this.#create, NAMES.values(distinct([...written, ...first])));
    const locked = pipeline.add(this.#lock, NAMES.values(names));
    const selected = pipeline.add(this.#selectCalls, CALLS.values(columns));
    await statements.all(pipeline);
    const streams = new Map(
      locked.rows.flatMap((row) => {
        const target = names[integer(row, "n") - 1];
        if (target === undefined) return [];
        return [[keyOf(target.instance, target.name), toStoredStream(row)] as const];
      }),
    );
    const calls = new Map(
      selected.rows.map((row) => [appends[integer(row, "n") - 1], toStoredCall(row)] as const),
    );
    return { streams, calls };
  }
}

const NEW_STREAM: StoredStream = { next: 0, isClosed: false };

/** What turns write to their streams. */
export function entriesOf(turns: readonly TurnItem[]): StreamEntry[] {
  return turns.flatMap(({ key: instance, execution, streams = [] }) =>
    streams.map(({ name, values, closes }) => {
      const items = { first: 0, execution, call: 0 };
      const chunks = values.length === 0 ? [] : [itemsChunk(values, items)];
      return { instance, name, chunks, closes: closes === true, mustBeOpen: false, call: null };
    }),
  );
}

/** An append as the batch assumes it (postgres.streams.2). */
export function assumedEntry(item: AppendItem): StreamEntry {
  const { task, run, position, values } = item;
  const { execution, sequence, token } = task;
  const chunks = [itemsChunk(values, { first: 0, execution, call: sequence })];
  const effect = position === 0 ? "begin" : "continue";
  const call = { effect, run, token, written: position + values.length } as const;
  return { ...targetOf(item), chunks, mustBeOpen: true, call };
}

/** The claims of the turns whose outcomes settle streams. */
export function settledBy(turns: readonly TurnItem[]): TaskClaim[] {
  return turns.flatMap(({ finished }) =>
    finished.filter(({ streamValues }) => streamValues !== undefined),
  );
}

function toClaimColumns(claim: TaskClaim) {
  return { ...addressColumns(claim), token: claim.token, expected: claim.streamValues ?? 0 };
}

function targetOf({ task, name }: AppendItem) {
  return { instance: task.key, name, closes: false };
}

function keyOf(instance: number, name: string): string {
  return `${instance}:${name}`;
}

interface StreamTarget {
  readonly instance: number;
  readonly name: string;
}
interface StreamWrites extends StreamTarget {
  readonly entries: readonly StreamEntry[];
}

/** The entries by stream, in the order of the locks. */
function byStream(entries: readonly StreamEntry[]): StreamWrites[] {
  const groups = Map.groupBy(entries, ({ instance, name }) => keyOf(instance, name));
  return distinct(entries).map(({ instance, name }) => {
    return { instance, name, entries: groups.get(keyOf(instance, name)) ?? [] };
  });
}

/** One of each stream, in the order of the locks (postgres.streams.1). */
function distinct(targets: readonly StreamTarget[]): StreamTarget[] {
  const found = new Map(targets.map((target) => [keyOf(target.instance, target.name), target]));
  return [...found.values()].sort(
    (a, b) => a.instance - b.instance || (a.name < b.name ? -1 : Number(a.name > b.name)),
  );
}

function toStreamColumns({ instance, name, entries }: StreamWrites) {
  const closes = entries.some((entry) => entry.closes);
  return { instance, name, total: countOf(entries), closes };
}

function toChunkColumns({ instance, name, entries }: StreamWrites) {
  let ahead = countOf(entries);
  return entries.flatMap(({ chunks, mustBeOpen, call }) =>
    chunks.map((chunk) => {
      const { count, execution, kind, data } = chunk;
      const own = kind === "items" ? call : null; // a reset comes with the items of its run
      const row = {
        ...{ instance, name, execution, call: chunk.call, count, ahead, kind, data },
        checksum: checksumOfContents(instance, name, chunk),
        must_be_open: mustBeOpen,
        effect: own?.effect ?? null,
        run: own?.run ?? null,
        token: own?.token ?? null,
        written: own?.written ?? null,
      };
      ahead -= count;
      return row;
    }),
  );
}

function countOf(entries: readonly StreamEntry[]): number {
  let total = 0;
  for (const { chunks } of entries) for (const { count } of chunks) total += count;
  return total;
}

function toStoredStream(row: Row): StoredStream {
  return { next: integer(row, "next"), isClosed: flag(row, "closed") };
}

function toStoredCall(row: Row): StoredStreamCall {
  return {
    run: text(row, "run"),
    since: integer(row, "since"),
    runSince: integer(row, "run_since"),
    written: integer(row, "written"),
  };
}
