// Ruled queue: leases tasks of queues with rules, together with plain tasks (provider.queues.2 to provider.queues.6).
//   - One transaction locks the rows of the queues, finds their tasks, chooses and leases. Requests for the same queue
//       wait for each other; requests for other queues do not.
//   - The search that comes before takes no lock. It shows which queues have due tasks. A queue without a free slot or
//       admission is not locked, because many idle workers may ask for it.

import {
  isOpen,
  QueueAdmission,
  type QueueLoad,
} from "../../core/provider/shared/queue-admission.ts";
import {
  chooseTasks,
  foundTasks,
  type FoundTasks,
  type QueuePart,
  type TaskChoice,
} from "../../core/provider/shared/task-choice.ts";
import type { LeasedTask, LeaseTasksRequest } from "../../core/provider/tasks.ts";
import { findQueued } from "../../sql/lease/queue-candidates.ts";
import type { KeyCursors } from "../../sql/lease/queue-parts.ts";
import {
  admittedUntil,
  lockLoads,
  ruledRequest,
  selectLoads,
  takenRecords,
  toLoads,
  withFacts,
  type RuledRequest,
} from "../../sql/lease/queue-loads.ts";
import { withPerdureErrors, type Connection } from "../connection/connection.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { addCalls } from "../connection/script-driver.ts";
import type { Statements } from "../connection/statements.ts";
import type { WaitingTask } from "./queue-partitions.ts";
import { QUEUE_STATEMENTS } from "./queue-scans.ts";
import type { TaskLeasing } from "./task-leasing.ts";

/** What was found before any lock. */
export interface Search {
  readonly candidates: readonly WaitingTask[];
  /** The sessions that may be served, and how many more. */
  readonly served: ReadonlySet<string>;
  readonly newMax: number;
  readonly parts: readonly QueuePart[];
  /** The queues of the request with a rule or a pause. */
  readonly loads: readonly QueueLoad[];
  /** The choice as if no queue had a rule. */
  readonly choice: TaskChoice<WaitingTask>;
}
export interface Leased {
  readonly found: FoundTasks<WaitingTask>;
  readonly tasks: LeasedTask[];
}

const NOTHING: Leased = { found: { waiting: [], more: false, nextAt: null }, tasks: [] };

/** The candidates of a request, by what is to be done with them. */
interface Sorted {
  /** Tasks of queues without rules. */
  readonly free: readonly WaitingTask[];
  /** Tasks of queues with rules that have a session or an expired lease. */
  readonly named: readonly WaitingTask[];
  /** Queues with due tasks: those from which a task may be taken now, and those that are at their limits. */
  readonly open: readonly QueueLoad[];
  readonly full: readonly QueueLoad[];
}

export class RuledQueue {
  readonly #connection: Connection;
  readonly #taskLeasing: TaskLeasing;
  readonly #cursors: KeyCursors = new Map();

  constructor(connection: Connection, taskLeasing: TaskLeasing) {
    this.#connection = connection;
    this.#taskLeasing = taskLeasing;
  }

  async lease(given: LeaseTasksRequest, search: Search): Promise<Leased> {
    const rules = ruledRequest(given, search.loads, this.#connection.now());
    const sorted = sortCandidates(search, rules);
    if (sorted.open.length === 0) {
      const found = choose(search, sorted, rules, []);
      if (found.waiting.length === 0) return { found, tasks: [] };
      return { found, tasks: await this.#taskLeasing.lease(rules.request, found.waiting) };
    }
    const work = (statements: Statements): Promise<Leased> =>
      this.#leaseLocked(statements, search, sorted, rules);
    return withPerdureErrors(this.#connection.transact({ owners: [given.owner] }, work));
  }

  async #leaseLocked(
    statements: Statements,
    search: Search,
    sorted: Sorted,
    { request }: RuledRequest,
  ): Promise<Leased> {
    const names = sorted.open.map(({ name }) => name);
    const locked = await statements.script(lockLoads(request.owner, names));
    if (locked === null) return NOTHING;
    const rules = ruledRequest(request, locked, statements.now);
    const { loads } = rules;
    const queued = await statements.script(
      findQueued(
        { request: rules.request, statements: QUEUE_STATEMENTS, cursors: this.#cursors },
        loads,
      ),
    );
    const named = await statements.script(
      withFacts(
        sorted.named.filter(({ name }) => rules.names.has(name)),
        rules.names,
      ),
    );
    const others = [...named, ...queued.map((task) => ({ ...task, overdue: false }))];
    const found = choose(search, sorted, rules, others);
    if (found.waiting.length === 0) return { found, tasks: [] };
    const records = takenRecords(found.waiting, loads, rules.time);
    const { waiting } = found;
    const tasks = await this.#taskLeasing.leaseWithin(statements, request, waiting, records);
    return { found, tasks: withAdmissions(tasks, waiting, rules) };
  }
}

/** Adds the statement that reads the loads of the queues. Call the returned function after the run. */
export function addLoads(
  pipeline: Pipeline,
  { names }: LeaseTasksRequest,
  { statements }: Connection,
): () => readonly QueueLoad[] {
  const [answer] = addCalls(pipeline, [selectLoads(names)], statements);
  return () => toLoads(answer?.rows ?? []);
}

function sortCandidates({ candidates }: Search, { request, loads, names }: RuledRequest): Sorted {
  const asked = new Set(request.names); // without paused queues
  const wanted = candidates.filter(({ name }) => asked.has(name));
  const ruled = wanted.filter(({ name }) => names.has(name));
  const named = ruled.filter(({ session, overdue }) => session !== null || overdue);
  const due = new Set(ruled.map(({ name }) => name));
  const retaken = new Set(named.filter(({ overdue }) => overdue).map(({ name }) => name));
  const concerned = loads.filter(({ name, hasDeferred }) => due.has(name) || hasDeferred);
  const isTakeable = (load: QueueLoad): boolean => isOpen(load) || retaken.has(load.name);
  return {
    free: wanted.filter(({ name }) => !names.has(name)),
    named,
    open: concerned.filter(isTakeable),
    full: concerned.filter((load) => !isTakeable(load)),
  };
}

function choose(
  { served, newMax, parts }: Search,
  { free, full }: Sorted,
  { request, loads, time }: RuledRequest,
  queued: readonly WaitingTask[],
): FoundTasks<WaitingTask> {
  const { limit } = request;
  const admission = new QueueAdmission(loads, time);
  for (const load of full) admission.holdBack(load);
  const choice = chooseTasks([...free, ...queued], request, served, newMax, admission);
  return foundTasks(choice, limit, [...parts, { nextAt: admission.retryAt }]);
}

function withAdmissions(
  tasks: readonly LeasedTask[],
  waiting: readonly WaitingTask[],
  rules: RuledRequest,
): LeasedTask[] {
  const rated = new Map(waiting.map((task) => [addressOf(task), admittedUntil(task, rules)]));
  return tasks.map((task) => {
    const { key: instance, execution, sequence } = task;
    const until = rated.get(addressOf({ instance, execution, sequence })) ?? null;
    return until === null ? task : { ...task, admittedUntil: until };
  });
}

function addressOf({
  instance,
  execution,
  sequence,
}: Pick<WaitingTask, "instance" | "execution" | "sequence">): string {
  return `${instance}:${execution}:${sequence}`;
}
