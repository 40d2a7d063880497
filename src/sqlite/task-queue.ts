// Task queue: which waiting task is next, and taking it.
//   Q1. Order is exact (K2): available at + priority · ageing. The index is cut by name and priority, within
//       which that is the order of available at; the heads of all cuts are merged.
//   Q2. Only cuts of wanted names are read, and of each only what is due: neither a name that nobody here
//       registers nor a far retry costs anything (semantics 14).
//   Q3. At most one suspect an answer, in its turn like any other (semantics 13).
//   Q4. A task whose lease ended by itself is taken like a suspect that waits; only whoever takes it counts the
//       death, since until then its owner may still finish it (I2, K4).

import type { StatementSync } from "node:sqlite";
import type { LeasedTask, LeasedTasks, LeaseTasksRequest } from "../core/provider/tasks.ts";
import { AGEING_MS } from "./ageing.ts";
import { integer, integerOrNull, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { nextCut } from "./cuts.ts";
import { dueTime } from "./messages.ts";
import type { Runtimes } from "./runtimes.ts";
import { LEASED_COLUMNS, toLeasedTask } from "./task-rows.ts";

/** A part of the queue in which available_at alone is the order. */
interface Cut {
  readonly suspect: number;
  readonly name: string;
  readonly priority: number;
}
interface Waiting {
  readonly instance: number;
  readonly execution: number;
  readonly sequence: number;
  readonly suspect: number;
  /** 1: its lease ended by itself. */
  readonly overdue: number;
  readonly rank: number;
}
interface Found {
  readonly waiting: readonly Waiting[];
  readonly more: boolean;
  readonly nextAt: number | null;
}

export class TaskQueue {
  readonly #connection: Connection;
  readonly #runtimes: Runtimes;
  readonly #nextCut: StatementSync;
  readonly #selectHead: StatementSync;
  readonly #selectNextAt: StatementSync;
  readonly #selectOverdue: StatementSync;
  readonly #take: StatementSync;
  readonly #selectInstance: StatementSync;

  constructor(connection: Connection, runtimes: Runtimes) {
    this.#connection = connection;
    this.#runtimes = runtimes;
    this.#nextCut = connection.prepare(
      nextCut("tasks", "lease_owner IS NULL", ["suspect", "name", "priority"]),
    );
    const cut = "lease_owner IS NULL AND suspect = ? AND name = ? AND priority = ?";
    this.#selectHead = connection.prepare(`
      SELECT instance, execution, sequence, available_at FROM tasks
      WHERE ${cut} AND available_at <= ?
      ORDER BY available_at, instance, execution, sequence LIMIT +?`);
    this.#selectNextAt = connection.prepare(
      `SELECT min(available_at) AS at FROM tasks WHERE ${cut} AND available_at > ?`,
    );
    this.#selectOverdue = connection.prepare(`
      SELECT instance, execution, sequence, name, priority, lease_until AS available_at FROM tasks
      WHERE lease_until IS NOT NULL AND lease_until <= ?`);
    this.#take = connection.prepare(`
      UPDATE tasks SET lease_owner = ?1, lease_token = ?2, lease_until = ?3,
        attempt = attempt + ?4, deaths = deaths + ?4, suspect = max(suspect, ?4),
        available_at = iif(?4, ?5, available_at)
      WHERE instance = ?6 AND execution = ?7 AND sequence = ?8
      RETURNING ${LEASED_COLUMNS}`);
    this.#selectInstance = connection.prepare(
      "SELECT id, run_id, name AS orchestration, version FROM instances WHERE key = ?",
    );
  }

  lease(request: LeaseTasksRequest): Promise<LeasedTasks> {
    // Without anything to take there is nothing to write, and no lock to wait for.
    return this.#connection.readThenWrite(
      () => this.#find(request),
      ({ waiting }) => waiting.length > 0,
      ({ waiting, more, nextAt }) => ({ tasks: this.#takeAll(request, waiting), more, nextAt }),
    );
  }

  #find({ owner, names, limit, allowSuspect }: LeaseTasksRequest): Found {
    if (!this.#runtimes.knows(owner)) return { waiting: [], more: false, nextAt: null };
    const now = this.#connection.now();
    const wanted = new Set(names);
    const candidates: Waiting[] = [];
    let nextAt: number | null = null;
    for (const cut of this.#cuts()) {
      if (!wanted.has(cut.name) || (cut.suspect === 1 && !allowSuspect)) continue;
      candidates.push(...this.#head(cut, now, limit + 1));
      const at = this.#nextAt(cut, now);
      if (at !== null && (nextAt === null || at < nextAt)) nextAt = at;
    }
    if (allowSuspect) candidates.push(...this.#overdue(wanted, now));
    const inOrder = candidates.sort(byRank);
    const firstSuspect = inOrder.find((task) => task.suspect === 1);
    const takeable = inOrder.filter((task) => task.suspect === 0 || task === firstSuspect);
    return {
      waiting: takeable.slice(0, limit),
      more: takeable.length > limit,
      nextAt,
    };
  }

  *#cuts(): Iterable<Cut> {
    let last: Cut = { suspect: -1, name: "", priority: 0 };
    for (;;) {
      const row = this.#nextCut.get(last.suspect, last.name, last.priority);
      if (row === undefined) return;
      last = {
        suspect: integer(row, "suspect"),
        name: text(row, "name"),
        priority: integer(row, "priority"),
      };
      yield last;
    }
  }

  #head({ suspect, name, priority }: Cut, now: number, limit: number): Waiting[] {
    return this.#selectHead
      .all(suspect, name, priority, now, limit)
      .map((row) => toWaiting(row, { suspect, priority, overdue: 0 }));
  }

  #overdue(names: ReadonlySet<string>, now: number): Waiting[] {
    return this.#selectOverdue
      .all(now)
      .filter((row) => names.has(text(row, "name")))
      .map((row) => toWaiting(row, { suspect: 1, priority: integer(row, "priority"), overdue: 1 }));
  }

  #nextAt({ suspect, name, priority }: Cut, now: number): number | null {
    const row = this.#selectNextAt.get(suspect, name, priority, now);
    return row === undefined ? null : integerOrNull(row, "at");
  }

  #takeAll(request: LeaseTasksRequest, waiting: readonly Waiting[]): LeasedTask[] {
    const { owner, token, leaseMs } = request;
    const now = this.#connection.now();
    const until = leaseMs === undefined ? null : dueTime({ delayMs: leaseMs }, now);
    return waiting.flatMap(({ instance, execution, sequence, overdue }) => {
      const address = [instance, execution, sequence];
      const row = this.#take.get(owner, token, until, overdue, now, ...address);
      const described = this.#selectInstance.get(instance);
      if (row === undefined || described === undefined) return [];
      return [toLeasedTask({ ...described, ...row })];
    });
  }
}

function toWaiting(
  row: Row,
  { suspect, priority, overdue }: { suspect: number; priority: number; overdue: number },
): Waiting {
  return {
    instance: integer(row, "instance"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    suspect,
    overdue,
    rank: integer(row, "available_at") + priority * AGEING_MS,
  };
}

function byRank(a: Waiting, b: Waiting): number {
  return (
    a.rank - b.rank ||
    a.instance - b.instance ||
    a.execution - b.execution ||
    a.sequence - b.sequence
  );
}
