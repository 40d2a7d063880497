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
//   - Rules and pauses of queues are read last: a task that was inserted after the end of a pause call is not taken.
//   - Finding locks nothing; task-leasing.ts leases. If other workers leased all tasks that were found, the
//       search is repeated.

import { chooseTasks, foundTasks, type QueuePart } from "../../core/provider/shared/task-choice.ts";
import type { QueueLoad } from "../../core/provider/shared/queue-admission.ts";
import type { LeasedTasks, LeaseTasksRequest } from "../../core/provider/tasks.ts";
import type { Connection } from "../connection/connection.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import { Pipeline } from "../connection/pipeline.ts";
import { releaseAdmitted } from "../../sql/lease/queue-loads.ts";
import type { PostgresScripts } from "../script-store.ts";
import { retryLocked } from "./locked-rows.ts";
import { QueuePartitions } from "./queue-partitions.ts";
import { addLoads, RuledQueue, type Leased, type Search } from "./ruled-queue.ts";
import type { TaskLeasing } from "./task-leasing.ts";

const NO_TASKS: LeasedTasks = { tasks: [], more: false, nextAt: null };
/** How often the search is repeated because other workers leased everything that was found. */
const ROUNDS = 3;

export class TaskQueue {
  readonly #connection: Connection;
  readonly #notifier: ChangeNotifier;
  readonly #taskLeasing: TaskLeasing;
  readonly #partitions: QueuePartitions;
  readonly #ruledQueue: RuledQueue;
  readonly #scripts: PostgresScripts;

  constructor(
    connection: Connection,
    {
      notifier,
      taskLeasing,
      scripts,
    }: { notifier: ChangeNotifier; taskLeasing: TaskLeasing; scripts: PostgresScripts },
  ) {
    this.#ruledQueue = new RuledQueue(connection, taskLeasing);
    this.#scripts = scripts;
    this.#connection = connection;
    this.#notifier = notifier;
    this.#taskLeasing = taskLeasing;
    this.#partitions = new QueuePartitions(connection);
  }

  async lease(request: LeaseTasksRequest): Promise<LeasedTasks> {
    if (request.tags === "none") return NO_TASKS;
    this.#notifier.serves(request.owner, { names: request.names });
    if (request.again === true) {
      const tasks = await this.#taskLeasing.readLeased(request);
      if (tasks.length > 0) {
        const kept = await releaseAdmitted(request, tasks, this.#scripts);
        return { tasks: kept, more: true, nextAt: null };
      }
    }
    for (let round = 1; ; round += 1) {
      const { found, tasks } = await this.#leaseOnce(request);
      const { waiting, more, nextAt } = found;
      const isLeft = tasks.length < waiting.length; // postgres.locked-rows.1
      const retryAt = isLeft ? retryLocked(this.#connection.now(), nextAt) : nextAt;
      if (waiting.length === 0 || tasks.length > 0) return { tasks, more, nextAt: retryAt };
      // Other workers leased all of it; or the caller was declared dead and gets no lease.
      if (!(await this.#taskLeasing.isRegistered(request.owner))) return NO_TASKS;
      if (round === ROUNDS) return { tasks, more, nextAt: retryAt };
    }
  }

  async #leaseOnce(request: LeaseTasksRequest): Promise<Leased> {
    const search = await this.#find(request);
    if (search.loads.length > 0) return this.#ruledQueue.lease(request, search);
    const found = foundTasks(search.choice, request.limit, search.parts);
    if (found.waiting.length === 0) return { found, tasks: [] };
    return { found, tasks: await this.#taskLeasing.lease(request, found.waiting) };
  }

  async #find(request: LeaseTasksRequest): Promise<Search> {
    const { sessions } = request;
    const pipeline = new Pipeline();
    const plain = this.#partitions.plain(pipeline, request);
    const overdue = this.#partitions.overdue(pipeline, request);
    if (sessions === null) {
      const loads = addLoads(pipeline, request, this.#connection);
      await this.#connection.readPipeline(pipeline);
      const others = [...plain.waiting, ...overdue.waiting];
      const scope = { candidates: others, served: new Set<string>(), newMax: 0 };
      return chosen(scope, request, [plain], loads());
    }
    const { owner, inFlight, newMax } = sessions;
    const lapse = this.#partitions.lapse(pipeline, owner);
    const served: ReadonlySet<string> = new Set(inFlight);
    const some =
      newMax > 0
        ? this.#partitions.ofSessions(pipeline, request, owner)
        : this.#partitions.ofSession(pipeline, request, owner, inFlight);
    const loads = addLoads(pipeline, request, this.#connection);
    await this.#connection.readPipeline(pipeline);
    const others = [...plain.waiting, ...overdue.waiting];
    const candidates = [...others, ...some.waiting];
    const search = chosen({ candidates, served, newMax }, request, [plain, some, lapse], loads());
    if (newMax === 0 || !search.choice.isFull) return search;
    const again = new Pipeline();
    const ofChosen = this.#partitions.ofSession(again, request, owner, [...search.choice.served]);
    const newest = addLoads(again, request, this.#connection);
    await this.#connection.readPipeline(again);
    const waiting = [...others, ...ofChosen.waiting];
    const scope = { candidates: waiting, served: search.choice.served, newMax: 0 };
    return chosen(scope, request, [plain, lapse, ofChosen], newest());
  }
}

/** The choice among the candidates as if no queue had a rule. */
function chosen(
  scope: Pick<Search, "candidates" | "served" | "newMax">,
  request: LeaseTasksRequest,
  parts: readonly QueuePart[],
  loads: readonly QueueLoad[],
): Search {
  const { candidates, served, newMax } = scope;
  return { ...scope, parts, loads, choice: chooseTasks([...candidates], request, served, newMax) };
}
