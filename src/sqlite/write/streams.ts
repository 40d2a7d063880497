// Streams: writes of activities and of turns to the streams of their instance.
//   - An append reads its task, the stream and the earlier appends of its call with one statement. If no row is
//     found, the claim does not hold (provider.streams.2).
//   - sqlite.streams.1: An outcome settles the rows with the token of its claim. So it settles only what the
//     successful run wrote, not what an earlier run of the call wrote to another stream.

import { DONE, LEASE_LOST } from "../../core/provider/results.ts";
import {
  itemsChunk,
  planAppend,
  type NewChunk,
  type StoredStream,
  type StoredStreamCall,
} from "../../core/provider/shared/streams.ts";
import type { AppendItem, AppendResult, StreamWrite } from "../../core/provider/streams.ts";
import type { TaskClaim } from "../../core/provider/tasks.ts";
import { flag, integer, text, textOrNull, type Row } from "../../sql/columns.ts";
import { checksumOfChunk } from "../../sql/rows/stream-rows.ts";
import { hasValues } from "../../sql/write/streams.ts";
import { Subject } from "../connection/subject.ts";
import type { Transaction } from "../notify/change-draft.ts";
import { changed } from "../sql/changed.ts";

/** The instance whose turn writes. */
interface Writer {
  readonly key: number;
  readonly execution: number;
}

const NEW_STREAM: StoredStream = { next: 0, isClosed: false };

export class Streams extends Subject {
  readonly #selectAppend = this.prepare(`
    SELECT i.id, s.next, s.closed, c.run, c.since, c.run_since, c.written
    FROM tasks AS t CROSS JOIN instances AS i ON i.key = t.instance
    LEFT JOIN streams AS s ON s.instance = t.instance AND s.name = ?5
    LEFT JOIN stream_calls AS c
      ON c.instance = t.instance AND c.execution = t.execution AND c.call = t.sequence AND c.name = ?5
    WHERE t.instance = ?1 AND t.execution = ?2 AND t.sequence = ?3 AND t.lease_token = ?4`);
  readonly #select = this.prepare(`
    SELECT next, closed FROM streams WHERE instance = ? AND name = ?`);
  readonly #insertChunk = this.prepare(`
    INSERT INTO stream_chunks (instance, name, first, count, execution, call, kind, data, checksum)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  readonly #advance = this.prepare(`
    INSERT INTO streams (instance, name, first, next, closed, updated_at) VALUES (?, ?, 0, ?, ?, ?)
    ON CONFLICT (instance, name) DO UPDATE SET
      next = excluded.next, closed = max(closed, excluded.closed), updated_at = excluded.updated_at`);
  readonly #beginRun = this.prepare(`
    INSERT OR REPLACE INTO stream_calls (
      instance, execution, call, name, lease_token, run, since, run_since, written, last, settled
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`);
  readonly #continueRun = this.prepare(`
    UPDATE stream_calls SET written = ?, last = ?
    WHERE instance = ? AND execution = ? AND call = ? AND name = ?`);
  readonly #settle = this.prepare(`
    UPDATE stream_calls SET settled = 1
    WHERE instance = ? AND execution = ? AND call = ? AND lease_token = ?`);
  readonly #selectId = this.prepare("SELECT id FROM instances WHERE key = ?");

  append(item: AppendItem, { now, changes }: Transaction): AppendResult {
    const { task, name } = item;
    const { key, execution, sequence, token } = task;
    const row = this.#selectAppend.get(key, execution, sequence, token, name);
    if (row === undefined) return LEASE_LOST;
    const plan = planAppend(item, toStream(row), toCall(row));
    if (plan.kind !== "write") return plan;
    const { call, next, beginsRun } = plan;
    for (const chunk of plan.chunks) this.#insert(key, name, chunk);
    this.#advance.run(key, name, next, 0, now);
    const address = [key, execution, sequence, name];
    if (beginsRun) {
      const { run, since, runSince, written } = call;
      this.#beginRun.run(...address, token, run, since, runSince, written, next - 1);
    } else {
      this.#continueRun.run(call.written, next - 1, ...address);
    }
    changes.streamed(text(row, "id"));
    return DONE;
  }

  /** What a turn writes (TurnItem.streams). */
  write(
    { key, execution }: Writer,
    writes: readonly StreamWrite[],
    { now, changes }: Transaction,
  ): void {
    for (const { name, values, closes } of writes) {
      const row = this.#select.get(key, name);
      const { next: first } = row === undefined ? NEW_STREAM : toStream(row);
      if (values.length > 0) {
        this.#insert(key, name, itemsChunk(values, { first, execution, call: 0 }));
      }
      this.#advance.run(key, name, first + values.length, closes === true ? 1 : 0, now);
    }
    changes.streamed(this.#idOf(key));
  }

  /** Settles what the successful run under this claim wrote (provider.streams.4, sqlite.streams.1). */
  settle({ key, execution, sequence, token }: TaskClaim, { changes }: Transaction): void {
    if (!changed(this.#settle.run(key, execution, sequence, token))) return;
    changes.streamed(this.#idOf(key));
  }

  /** Whether no value of the attempt under this claim is missing (provider.streams.7). */
  hasValues(claim: TaskClaim): boolean {
    return claim.streamValues === undefined || this.connection.run(hasValues(claim));
  }

  #insert(key: number, name: string, chunk: NewChunk): void {
    const { first, count, execution, call, kind, data } = chunk;
    const checksum = checksumOfChunk(key, name, chunk);
    this.#insertChunk.run(key, name, first, count, execution, call, kind, data, checksum);
  }

  #idOf(key: number): string {
    return text(this.#selectId.get(key) ?? {}, "id");
  }
}

function toStream(row: Row): StoredStream {
  if (row["next"] === null) return NEW_STREAM;
  return { next: integer(row, "next"), isClosed: flag(row, "closed") };
}

function toCall(row: Row): StoredStreamCall | null {
  const run = textOrNull(row, "run");
  if (run === null) return null;
  return {
    run,
    since: integer(row, "since"),
    runSince: integer(row, "run_since"),
    written: integer(row, "written"),
  };
}
