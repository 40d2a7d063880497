// Task queue: which waiting task is next, and taking it.
//   Q1. Order is exact (K2): available at + priority · ageing. The queue is read by cuts (task-cuts.ts), within
//       which that is the order of available at; the heads of all cuts are merged.
//   Q2. Only cuts of wanted names and tags are read, and of each only what is due: neither a name that nobody here
//       registers nor a far retry costs anything (semantics 14).
//   Q3. At most one suspect an answer, in its turn like any other (semantics 13; core/provider/task-choice.ts).
//   Q4. A task whose lease ended by itself is taken like a suspect that waits; only whoever takes it counts the
//       death, since until then its owner may still finish it (I2, K4).
//   Q5. New sessions are chosen in the order of their tasks. Once as many are chosen as may be, the queue is read
//       again for the chosen ones alone, so that the rest hides none of their tasks.
//   Q6. What a request took is known by its token: asked again, because its answer was lost, it hands over the same.

import type { StatementSync } from "node:sqlite";
import { AGEING_MS } from "../core/provider/ageing.ts";
import { chooseTasks, foundTasks, type FoundTasks } from "../core/provider/task-choice.ts";
import type {
  LeasedTask,
  LeasedTasks,
  LeaseTasksRequest,
  SessionClaim,
  SessionRequest,
} from "../core/provider/tasks.ts";
import { integer, textOrNull, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { dueTime } from "./messages.ts";
import type { Runtimes } from "./runtimes.ts";
import type { Sessions } from "./sessions.ts";
import { TaskCuts, type Waiting } from "./task-cuts.ts";
import { LEASED_COLUMNS, toLeasedTask } from "./task-rows.ts";

/** Of a task whose lease ended by itself: as for the death of its owner, from what that holds now (blame.ts). */
const IS_TO_BLAME = `(
  deaths = 0
  OR NOT EXISTS (
      SELECT 1 FROM instances AS i
      WHERE i.lease_owner = tasks.lease_owner AND (i.suspicion > 1 OR i.steps_open = 1))
    AND NOT EXISTS (
      SELECT 1 FROM tasks AS t
      WHERE t.lease_owner = tasks.lease_owner AND t.lease_token <> ?2 AND t.deaths > 0
        AND (t.instance, t.execution, t.sequence)
          <> (tasks.instance, tasks.execution, tasks.sequence)))`;

const NOTHING: FoundTasks<Waiting> = { waiting: [], more: false, nextAt: null };

export class TaskQueue {
  readonly #connection: Connection;
  readonly #runtimes: Runtimes;
  readonly #sessions: Sessions;
  readonly #cuts: TaskCuts;
  readonly #take: StatementSync;
  readonly #selectTaken: StatementSync;
  readonly #selectInstance: StatementSync;

  constructor(connection: Connection, runtimes: Runtimes, sessions: Sessions) {
    this.#connection = connection;
    this.#runtimes = runtimes;
    this.#sessions = sessions;
    this.#cuts = new TaskCuts(connection);
    this.#take = connection.prepare(`
      UPDATE tasks SET lease_owner = ?1, lease_token = ?2, lease_until = ?3,
        attempt = attempt + (?4 AND ${IS_TO_BLAME}), deaths = deaths + (?4 AND ${IS_TO_BLAME}),
        suspect = iif(?4 AND deaths >= 1, 1, suspect),
        available_at = iif(?4, ?5, available_at)
      WHERE instance = ?6 AND execution = ?7 AND sequence = ?8
      RETURNING ${LEASED_COLUMNS}`);
    this.#selectTaken = connection.prepare(`
      SELECT ${LEASED_COLUMNS} FROM tasks WHERE lease_owner = ? AND lease_token = ?
      ORDER BY available_at + priority * ?, instance, execution, sequence`);
    this.#selectInstance = connection.prepare(
      "SELECT id, run_id, name AS orchestration, version FROM instances WHERE key = ?",
    );
  }

  async lease(request: LeaseTasksRequest): Promise<LeasedTasks> {
    if (request.again === true) {
      const tasks = await this.#connection.read(() => this.#taken(request));
      if (tasks.length > 0) return { tasks, more: true, nextAt: null };
    }
    // Without anything to take there is nothing to write, and no lock to wait for.
    return this.#connection.readThenWrite(
      () => this.#find(request),
      ({ waiting }) => waiting.length > 0,
      ({ waiting, more, nextAt }) => ({ tasks: this.#takeAll(request, waiting), more, nextAt }),
    );
  }

  #find(request: LeaseTasksRequest): FoundTasks<Waiting> {
    const { owner, limit, tags, sessions } = request;
    if (tags === "none" || !this.#runtimes.knows(owner)) return NOTHING;
    const now = this.#connection.now();
    const plain = this.#cuts.ofSession(request, null, now);
    const overdue = this.#overdue(request, now);
    const others = [...plain.waiting, ...overdue];
    if (sessions === null) {
      return foundTasks(chooseTasks(others, limit, new Set(), 0), limit, [plain]);
    }
    const { inFlight, newMax } = sessions;
    const lapse = { waiting: [], nextAt: this.#sessions.nextLapse(sessions.owner, now) };
    let served: ReadonlySet<string> = new Set(inFlight);
    if (newMax > 0) {
      const every = this.#cuts.ofSessions(request, sessions.owner, now);
      const choice = chooseTasks([...others, ...every.waiting], limit, served, newMax);
      if (!choice.isFull) return foundTasks(choice, limit, [plain, every, lapse]);
      served = choice.served;
    }
    const ofServed = [...served]
      .filter((id) => !this.#sessions.isForeign(id, sessions.owner, now))
      .map((id) => this.#cuts.ofSession(request, id, now));
    const waiting = [...others, ...ofServed.flatMap((heads) => heads.waiting)];
    return foundTasks(chooseTasks(waiting, limit, served, 0), limit, [plain, lapse, ...ofServed]);
  }

  #overdue(request: LeaseTasksRequest, now: number): readonly Waiting[] {
    const { sessions } = request;
    const overdue = this.#cuts.overdue(request, now);
    return overdue.filter(({ session }) => {
      if (session === null) return true;
      return sessions !== null && !this.#sessions.isForeign(session, sessions.owner, now);
    });
  }

  #takeAll(request: LeaseTasksRequest, waiting: readonly Waiting[]): LeasedTask[] {
    const { owner, token, leaseMs, sessions } = request;
    const now = this.#connection.now();
    const until = leaseMs === undefined ? null : dueTime({ delayMs: leaseMs }, now);
    const claims = new Map<string, SessionClaim | null>();
    return waiting.flatMap(({ instance, execution, sequence, session, overdue }) => {
      if (session !== null && !claims.has(session)) {
        claims.set(session, this.#claim(session, sessions, now));
      }
      const claim = session === null ? null : (claims.get(session) ?? null);
      if (session !== null && claim === null) return [];
      const address = [instance, execution, sequence];
      const row = this.#take.get(owner, token, until, overdue, now, ...address);
      return row === undefined ? [] : this.#described(row, claim);
    });
  }

  /** Q6 */
  #taken({ owner, token, sessions, ageingMs = AGEING_MS }: LeaseTasksRequest): LeasedTask[] {
    return this.#selectTaken.all(owner, token, ageingMs).flatMap((row) => {
      const session = textOrNull(row, "session");
      const holder = sessions?.owner ?? "";
      return this.#described(row, session === null ? null : this.#sessions.find(session, holder));
    });
  }

  #described(row: Row, claim: SessionClaim | null): LeasedTask[] {
    const described = this.#selectInstance.get(integer(row, "instance"));
    if (described === undefined) return [];
    const task = toLeasedTask({ ...described, ...row });
    return [claim === null ? task : { ...task, sessionClaim: claim }];
  }

  #claim(id: string, sessions: SessionRequest | null, now: number): SessionClaim | null {
    return sessions === null ? null : this.#sessions.claim(id, sessions, now);
  }
}
