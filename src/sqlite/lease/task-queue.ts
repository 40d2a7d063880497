// Task queue: finds the next tasks for a worker and leases them.
//   - The order is exact (provider.tasks.2): available at + priority · ageing. The queue is read by
//       partitions (lease/queue-partitions.ts), within which the order is that of available at. The first
//       tasks of all partitions are merged.
//   - Only partitions with wanted names and tags are read, and only tasks that are due. A name that no
//       worker of this process registers and a retry far in the future cost nothing (semantics 14).
//   - An answer holds at most one suspect task, in its turn like any other task (semantics 13;
//       core/provider/shared/task-choice.ts).
//   - A task with an expired lease is taken like a waiting suspect. The worker that takes the task counts
//       the death, because until then the previous worker may still finish it (I2, provider.tasks.4).
//   - New sessions are chosen in the order of their tasks. When the maximum is chosen, the queue is read
//       again for the chosen sessions only, so that tasks of other sessions do not crowd out theirs.
//   - task-queue.1: The tasks that a request leased carry its token. If the request is repeated because its
//       answer was lost, it returns the same tasks.

import { AGEING_MS } from "../../core/provider/shared/ageing.ts";
import {
  chooseTasks,
  foundTasks,
  type FoundTasks,
} from "../../core/provider/shared/task-choice.ts";
import type {
  LeasedTask,
  LeasedTasks,
  LeaseTasksRequest,
  SessionClaim,
  SessionRequest,
} from "../../core/provider/tasks.ts";
import { integer, textOrNull, type Row } from "../../sql/columns.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import { dueTime } from "../read/messages.ts";
import { isRegistered } from "../../sql/lease/runtimes.ts";
import type { Sessions } from "./sessions.ts";
import { QueuePartitions, type WaitingTask } from "./queue-partitions.ts";
import { LEASED_COLUMNS, toLeasedTask } from "./task-rows.ts";

/**
 * Whether the death counts for a task with an expired lease, judged by what its worker holds now
 * (blame.ts).
 */
const DEATH_COUNTS = `deferred_until IS NULL AND (
  deaths = 0
  OR NOT EXISTS (
      SELECT 1 FROM instances AS i
      WHERE i.lease_owner = tasks.lease_owner AND (i.suspicion > 1 OR i.steps_open = 1))
    AND NOT EXISTS (
      SELECT 1 FROM tasks AS t
      WHERE t.lease_owner = tasks.lease_owner AND t.lease_token <> ?2 AND t.deaths > 0
        AND (t.instance, t.execution, t.sequence)
          <> (tasks.instance, tasks.execution, tasks.sequence)))`;

const NO_TASKS: FoundTasks<WaitingTask> = { waiting: [], more: false, nextAt: null };

export class TaskQueue extends Subject {
  readonly #sessions: Sessions;
  readonly #partitions: QueuePartitions;
  readonly #lease = this.prepare(`
    UPDATE tasks SET lease_owner = ?1, lease_token = ?2, lease_until = ?3,
      attempt = attempt + (?4 AND ${DEATH_COUNTS}), deaths = deaths + (?4 AND ${DEATH_COUNTS}),
      suspect = iif(?4 AND deaths >= 1, 1, suspect),
      available_at = iif(?4, ?5, available_at)
    WHERE instance = ?6 AND execution = ?7 AND sequence = ?8
    RETURNING ${LEASED_COLUMNS}`);
  readonly #selectTaken = this.prepare(`
    SELECT ${LEASED_COLUMNS} FROM tasks WHERE lease_owner = ? AND lease_token = ?
    ORDER BY available_at + priority * ?, instance, execution, sequence`);
  readonly #selectInstance = this.prepare(`
    SELECT id, run_id, name AS orchestration, version FROM instances WHERE key = ?`);

  constructor(connection: Connection, sessions: Sessions) {
    super(connection);
    this.#sessions = sessions;
    this.#partitions = new QueuePartitions(connection);
  }

  async lease(request: LeaseTasksRequest): Promise<LeasedTasks> {
    if (request.again === true) {
      const tasks = await this.connection.read(() => this.#taken(request));
      if (tasks.length > 0) return { tasks, more: true, nextAt: null };
    }
    // If there is nothing to lease, no write lock is needed.
    return this.connection.readThenWrite(
      () => this.#find(request),
      ({ waiting }) => waiting.length > 0,
      ({ waiting, more, nextAt }) => ({ tasks: this.#leaseAll(request, waiting), more, nextAt }),
    );
  }

  #find(request: LeaseTasksRequest): FoundTasks<WaitingTask> {
    const { owner, limit, tags, sessions } = request;
    if (tags === "none" || !this.connection.run(isRegistered(owner))) return NO_TASKS;
    const now = this.connection.now();
    const plain = this.#partitions.ofSession(request, null, now);
    const overdue = this.#overdue(request, now);
    const others = [...plain.waiting, ...overdue];
    if (sessions === null) {
      return foundTasks(chooseTasks(others, limit, new Set(), 0), limit, [plain]);
    }
    const { inFlight, newMax } = sessions;
    const lapse = { waiting: [], nextAt: this.#sessions.nextLapse(sessions.owner, now) };
    let served: ReadonlySet<string> = new Set(inFlight);
    if (newMax > 0) {
      const every = this.#partitions.ofSessions(request, sessions.owner, now);
      const choice = chooseTasks([...others, ...every.waiting], limit, served, newMax);
      if (!choice.isFull) return foundTasks(choice, limit, [plain, every, lapse]);
      served = choice.served;
    }
    const ofServed = [...served]
      .filter((id) => !this.#sessions.isForeign(id, sessions.owner, now))
      .map((id) => this.#partitions.ofSession(request, id, now));
    const waiting = [...others, ...ofServed.flatMap((heads) => heads.waiting)];
    return foundTasks(chooseTasks(waiting, limit, served, 0), limit, [plain, lapse, ...ofServed]);
  }

  #overdue(request: LeaseTasksRequest, now: number): readonly WaitingTask[] {
    const { sessions } = request;
    const overdue = this.#partitions.overdue(request, now);
    return overdue.filter(({ session }) => {
      if (session === null) return true;
      return sessions !== null && !this.#sessions.isForeign(session, sessions.owner, now);
    });
  }

  #leaseAll(request: LeaseTasksRequest, waiting: readonly WaitingTask[]): LeasedTask[] {
    const { owner, token, leaseMs, sessions } = request;
    const now = this.connection.now();
    const until = leaseMs === undefined ? null : dueTime({ delayMs: leaseMs }, now);
    const claims = new Map<string, SessionClaim | null>();
    return waiting.flatMap(({ instance, execution, sequence, session, overdue }) => {
      if (session !== null && !claims.has(session)) {
        claims.set(session, this.#claim(session, sessions, now));
      }
      const claim = session === null ? null : (claims.get(session) ?? null);
      if (session !== null && claim === null) return [];
      const address = [instance, execution, sequence];
      const row = this.#lease.get(owner, token, until, overdue, now, ...address);
      return row === undefined ? [] : this.#withInstance(row, claim);
    });
  }

  /** task-queue.1 */
  #taken({ owner, token, sessions, ageingMs = AGEING_MS }: LeaseTasksRequest): LeasedTask[] {
    return this.#selectTaken.all(owner, token, ageingMs).flatMap((row) => {
      const session = textOrNull(row, "session");
      const holder = sessions?.owner ?? "";
      return this.#withInstance(
        row,
        session === null ? null : this.#sessions.find(session, holder),
      );
    });
  }

  #withInstance(row: Row, claim: SessionClaim | null): LeasedTask[] {
    const instance = this.#selectInstance.get(integer(row, "instance"));
    if (instance === undefined) return [];
    const task = toLeasedTask({ ...instance, ...row });
    return [claim === null ? task : { ...task, sessionClaim: claim }];
  }

  #claim(id: string, sessions: SessionRequest | null, now: number): SessionClaim | null {
    return sessions === null ? null : this.#sessions.claim(id, sessions, now);
  }
}
