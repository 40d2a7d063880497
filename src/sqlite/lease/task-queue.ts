// Task queue: finds the next tasks for a worker and leases them.
//   - The order is exact (provider.tasks.2): available at + priority · ageing. The queue is read by
//       partitions (lease/queue-partitions.ts), within which the order is that of available at. The first
//       tasks of all partitions are merged.
//   - Only partitions with wanted names and tags are read, and only tasks that are due. A name that no
//       worker of this process registers and a retry far in the future cost nothing (semantics 14).
//   - A suspect task is leased in its turn like any other task (semantics 13). How many an answer holds:
//       core/provider/shared/task-choice.ts.
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
  type QueuePart,
  type TaskChoice,
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
import { QueueAdmission } from "../../core/provider/shared/queue-admission.ts";
import { findQueued } from "../../sql/lease/queue-candidates.ts";
import type { KeyCursors } from "../../sql/lease/queue-parts.ts";
import {
  admittedUntil,
  readLoads,
  record,
  releaseAdmitted,
  ruledRequest,
  takenRecords,
  withFacts,
  type RuledRequest,
} from "../../sql/lease/queue-loads.ts";
import type { ScriptStore } from "../../sql/script/store.ts";
import type { Transaction } from "../notify/change-draft.ts";
import { QUEUE_STATEMENTS } from "./queue-scans.ts";
import { QueuePartitions, type WaitingTask } from "./queue-partitions.ts";
import { LEASED_COLUMNS, toLeasedTask } from "./task-rows.ts";

/**
 * Whether the death counts for a task with an expired lease, judged by what its worker holds now
 * (blame.ts).
 */
const DEATH_COUNTS = `deferred_until IS NULL AND (
  deaths = 0 OR deaths = 1 AND suspect
  OR NOT EXISTS (
      SELECT 1 FROM instances AS i
      WHERE i.lease_owner = tasks.lease_owner
        AND (i.suspicion > 1 OR i.suspicion > 0 AND i.steps_open))
    AND NOT EXISTS (
      SELECT 1 FROM tasks AS t
      WHERE t.lease_owner = tasks.lease_owner AND t.lease_token <> ?2
        AND iif(tasks.suspect, t.suspect, t.deaths > 0)
        AND t.deferred_until IS NULL
        AND (t.instance, t.execution, t.sequence)
          <> (tasks.instance, tasks.execution, tasks.sequence)))`;

interface Found extends FoundTasks<WaitingTask> {
  /** Null: no queue has a rule. */
  readonly rules: RuledRequest | null;
}
const NO_TASKS: Found = { waiting: [], more: false, nextAt: null, rules: null };

export class TaskQueue extends Subject {
  readonly #sessions: Sessions;
  readonly #partitions: QueuePartitions;
  readonly #scripts: ScriptStore<Transaction>;
  readonly #cursors: KeyCursors = new Map();
  readonly #anyQueue = this.prepare("SELECT 1 FROM queues LIMIT 1");
  readonly #lease = this.prepare(`
    UPDATE tasks SET lease_owner = ?1, lease_token = ?2, lease_until = ?3,
      attempt = attempt + (?4 AND ${DEATH_COUNTS}), deaths = deaths + (?4 AND ${DEATH_COUNTS}),
      suspect = iif(?4 AND deferred_until IS NULL AND deaths >= 1, 1, suspect),
      available_at = iif(?4, ?5, available_at),
      holds_slot = EXISTS (SELECT 1 FROM queues AS q WHERE q.name = tasks.name AND q.rule IS NOT NULL)
    WHERE instance = ?6 AND execution = ?7 AND sequence = ?8
    RETURNING ${LEASED_COLUMNS}`);
  readonly #selectTaken = this.prepare(`
    SELECT ${LEASED_COLUMNS} FROM tasks WHERE lease_owner = ? AND lease_token = ?
    ORDER BY available_at + priority * ?, instance, execution, sequence`);
  readonly #selectInstance = this.prepare(`
    SELECT id, run_id, name AS orchestration, version FROM instances WHERE key = ?`);

  constructor(
    connection: Connection,
    { sessions, scripts }: { sessions: Sessions; scripts: ScriptStore<Transaction> },
  ) {
    super(connection);
    this.#scripts = scripts;
    this.#sessions = sessions;
    this.#partitions = new QueuePartitions(connection);
  }

  async lease(request: LeaseTasksRequest): Promise<LeasedTasks> {
    if (request.again === true) {
      const tasks = await this.connection.read(() => this.#taken(request));
      if (tasks.length > 0) {
        const kept = await releaseAdmitted(request, tasks, this.#scripts);
        return { tasks: kept, more: true, nextAt: null };
      }
    }
    // If there is nothing to lease, no write lock is needed.
    return this.connection.readThenWrite(
      () => this.#find(request),
      ({ waiting }) => waiting.length > 0,
      (found) => ({
        tasks: this.#leaseAll(request, found),
        more: found.more,
        nextAt: found.nextAt,
      }),
    );
  }

  #find(given: LeaseTasksRequest): Found {
    const { owner, limit, tags, sessions } = given;
    if (tags === "none" || !this.connection.run(isRegistered(owner))) return NO_TASKS;
    const now = this.connection.now();
    const rules = this.#rules(given, now);
    const request = rules?.request ?? given;
    const plain = this.#partitions.ofSession(request, null, now, rules?.names);
    const overdue = this.#withFacts(this.#overdue(request, now), rules);
    const others = [...plain.waiting, ...this.#queued(rules), ...overdue];
    const choose = (
      candidates: WaitingTask[],
      served: ReadonlySet<string>,
      newMax: number,
      parts: readonly QueuePart[],
    ): Found & { readonly choice: TaskChoice<WaitingTask> } => {
      const admission = rules === null ? undefined : new QueueAdmission(rules.loads, rules.time);
      const choice = chooseTasks(candidates, request, served, newMax, admission);
      const heldBack = { nextAt: admission?.retryAt ?? null };
      return { ...foundTasks(choice, limit, [...parts, heldBack]), rules, choice };
    };
    if (sessions === null) return choose(others, new Set(), 0, [plain]);
    const { inFlight, newMax } = sessions;
    const lapse = { waiting: [], nextAt: this.#sessions.nextLapse(sessions.owner, now) };
    let served: ReadonlySet<string> = new Set(inFlight);
    if (newMax > 0) {
      const every = this.#partitions.ofSessions(request, sessions.owner, now);
      const waiting = this.#withFacts(every.waiting, rules);
      const found = choose([...others, ...waiting], served, newMax, [plain, every, lapse]);
      if (!found.choice.isFull) return found;
      served = found.choice.served;
    }
    const ofServed = [...served]
      .filter((id) => !this.#sessions.isForeign(id, sessions.owner, now))
      .map((id) => this.#partitions.ofSession(request, id, now));
    const waiting = this.#withFacts(
      ofServed.flatMap((heads) => heads.waiting),
      rules,
    );
    return choose([...others, ...waiting], served, 0, [plain, lapse, ...ofServed]);
  }

  /** Null: no queue of the request has a rule or a pause. */
  #rules(request: LeaseTasksRequest, now: number): RuledRequest | null {
    if (this.#anyQueue.get() === undefined) return null;
    const loads = this.connection.run(readLoads(request.names), now);
    return loads.length === 0 ? null : ruledRequest(request, loads, now);
  }

  /** The candidates of the queues with rules. */
  #queued(rules: RuledRequest | null): readonly WaitingTask[] {
    if (rules === null) return [];
    const { request, loads, time } = rules;
    const search = { request, statements: QUEUE_STATEMENTS, cursors: this.#cursors };
    const found = this.connection.run(findQueued(search, loads), time.now);
    return found.map((task) => ({ ...task, overdue: 0 }));
  }

  #withFacts(tasks: readonly WaitingTask[], rules: RuledRequest | null): readonly WaitingTask[] {
    return rules === null ? tasks : this.connection.run(withFacts(tasks, rules.names));
  }

  #overdue(request: LeaseTasksRequest, now: number): readonly WaitingTask[] {
    const { sessions } = request;
    const overdue = this.#partitions.overdue(request, now);
    return overdue.filter(({ session }) => {
      if (session === null) return true;
      return sessions !== null && !this.#sessions.isForeign(session, sessions.owner, now);
    });
  }

  #leaseAll(request: LeaseTasksRequest, { waiting, rules }: Found): LeasedTask[] {
    const { owner, token, leaseMs, sessions } = request;
    const now = this.connection.now();
    const until = leaseMs === undefined ? null : dueTime({ delayMs: leaseMs }, now);
    const claims = new Map<string, SessionClaim | null>();
    if (rules !== null) {
      const records = takenRecords(waiting, rules.loads, rules.time);
      this.connection.run(record(records), rules.time.now);
    }
    return waiting.flatMap((task) => {
      const { instance, execution, sequence, session, overdue } = task;
      if (session !== null && !claims.has(session)) {
        claims.set(session, this.#claim(session, sessions, now));
      }
      const claim = session === null ? null : (claims.get(session) ?? null);
      if (session !== null && claim === null) return [];
      const address = [instance, execution, sequence];
      const row = this.#lease.get(owner, token, until, overdue, now, ...address);
      if (row === undefined) return [];
      const leased = this.#withInstance(row, claim);
      const admitted = rules === null ? null : admittedUntil(task, rules);
      if (admitted === null) return leased;
      return leased.map((each) => ({ ...each, admittedUntil: admitted }));
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
