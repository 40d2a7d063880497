// Bulk starts: the fast path for jobs that are written together (sql/write/bulk-starts.ts).
//   - A job that is due at once has three rows: an instance, a row of history, a task. Each table gets its rows in batches.
//   - If an id exists, only instances have been inserted. A savepoint removes them, and the script decides.

import type { StartItem } from "../../core/provider/commit.ts";
import type { EnqueueManyItem, EnqueueManyResult } from "../../core/provider/enqueue.ts";
import type { NewTask } from "../../core/provider/tasks.ts";
import { isRegistered } from "../../sql/lease/runtimes.ts";
import type { Script } from "../../sql/script/script.ts";
import { enqueued, schedulesOnly, type BulkWriter } from "../../sql/write/bulk-starts.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Tasks, WaitingTask } from "../lease/tasks.ts";
import type { FirstRow, History } from "../read/history.ts";
import type { Instances, Job } from "../read/instances.ts";
import type { EarlyMessages } from "./early-messages.ts";
import type { Starts } from "./start.ts";
import type { GroupTransaction } from "./turn.ts";

interface BulkParts {
  readonly instances: Instances;
  readonly history: History;
  readonly tasks: Tasks;
  readonly earlyMessages: EarlyMessages;
  readonly starts: Starts;
}

export class BulkStarts extends Subject implements BulkWriter<GroupTransaction> {
  readonly #parts: BulkParts;
  readonly #savepoint = this.prepare("SAVEPOINT jobs");
  readonly #rollback = this.prepare("ROLLBACK TO jobs");
  readonly #release = this.prepare("RELEASE jobs");

  constructor(connection: Connection, parts: BulkParts) {
    super(connection);
    this.#parts = parts;
  }

  /** Null: nothing is written, and the script must decide. */
  enqueue({ starts }: EnqueueManyItem, transaction: GroupTransaction): EnqueueManyResult | null {
    const jobs = starts.filter((start): start is Job => start.kind === "start" && isJob(start));
    if (jobs.length < starts.length) return null;
    return this.#insert(jobs, transaction) ? enqueued(starts) : null;
  }

  *startAll(starts: readonly StartItem[], transaction: GroupTransaction): Script<boolean> {
    const jobs = starts.filter(isJob);
    const areInserted = this.#insert(jobs, transaction);
    for (const start of areInserted ? starts.filter((one) => !isJob(one)) : starts) {
      if (this.#parts.starts.start(start, transaction).kind !== "started") return false;
    }
    return true;
  }

  /** False: nothing is written, because an id exists or an early message waits for one. */
  #insert(jobs: readonly Job[], transaction: GroupTransaction): boolean {
    const { instances, history, tasks, earlyMessages } = this.#parts;
    const { now } = transaction;
    if (earlyMessages.waitFor(jobs, now)) return false;
    this.#savepoint.run();
    const first = instances.insertJobs(jobs, now);
    if (first === null) this.#rollback.run();
    this.#release.run();
    if (first === null) return false;
    const leasable = this.leases();
    const rows: FirstRow[] = [];
    const waiting: WaitingTask[] = [];
    for (const [index, { firstTurn }] of jobs.entries()) {
      const key = first + index;
      if (firstTurn.row !== null) rows.push({ key, row: firstTurn.row });
      for (const scheduled of firstTurn.tasks) {
        const task = leasable(scheduled);
        if (task.lease === null) waiting.push({ key, task });
        else tasks.insert(key, 1, task, transaction);
      }
    }
    history.appendFirst(rows);
    tasks.insertWaiting(waiting, transaction);
    return true;
  }

  /** Removes the lease from tasks whose owner has no row (commit.6). Each owner is looked up once. */
  leases(): (task: NewTask) => NewTask {
    const known = new Map<string, boolean>();
    return (task) => {
      if (task.lease === null) return task;
      const { owner } = task.lease;
      let isKnown = known.get(owner);
      if (isKnown === undefined) {
        isKnown = this.connection.run(isRegistered(owner));
        known.set(owner, isKnown);
      }
      return isKnown ? task : { ...task, lease: null };
    };
  }
}

function isJob(start: StartItem): start is Job {
  const { firstTurn, parent } = start;
  return firstTurn !== undefined && parent === null && schedulesOnly(start, firstTurn);
}
