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
//   - Finding locks nothing; task-leasing.ts leases. If other workers leased all tasks that were found, the
//       search is repeated.

import {
  chooseTasks,
  foundTasks,
  type FoundTasks,
} from "../../core/provider/shared/task-choice.ts";
import type { LeasedTask, LeasedTasks, LeaseTasksRequest } from "../../core/provider/tasks.ts";
import type { Connection } from "../connection/connection.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import { Pipeline } from "../connection/pipeline.ts";
import { QueuePartitions, type WaitingTask } from "./queue-partitions.ts";
import type { TaskLeasing } from "./task-leasing.ts";

const NO_TASKS: LeasedTasks = { tasks: [], more: false, nextAt: null };
/** How often the search is repeated because other workers leased everything that was found. */
const ROUNDS = 3;

export class TaskQueue {
  readonly #connection: Connection;
  readonly #notifier: ChangeNotifier;
  readonly #taskLeasing: TaskLeasing;
  readonly #partitions: QueuePartitions;

  constructor(connection: Connection, notifier: ChangeNotifier, taskLeasing: TaskLeasing) {
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
      if (tasks.length > 0) return { tasks, more: true, nextAt: null };
    }
    for (let round = 1; ; round += 1) {
      const { waiting, more, nextAt } = await this.#find(request);
      if (waiting.length === 0) return { tasks: [], more, nextAt };
      const tasks: LeasedTask[] = await this.#taskLeasing.lease(request, waiting);
      if (tasks.length > 0) return { tasks, more, nextAt };
      // Other workers leased all of it; or the caller was declared dead and gets no lease.
      if (!(await this.#taskLeasing.isRegistered(request.owner))) return NO_TASKS;
      if (round === ROUNDS) return { tasks, more, nextAt };
    }
  }

  async #find(request: LeaseTasksRequest): Promise<FoundTasks<WaitingTask>> {
    const { limit, sessions } = request;
    const pipeline = new Pipeline();
    const plain = this.#partitions.plain(pipeline, request);
    const overdue = this.#partitions.overdue(pipeline, request);
    if (sessions === null) {
      await this.#connection.readPipeline(pipeline);
      const others = [...plain.waiting, ...overdue.waiting];
      return foundTasks(chooseTasks(others, limit, new Set(), 0), limit, [plain]);
    }
    const { owner, inFlight, newMax } = sessions;
    const lapse = this.#partitions.lapse(pipeline, owner);
    const served: ReadonlySet<string> = new Set(inFlight);
    const some =
      newMax > 0
        ? this.#partitions.ofSessions(pipeline, request, owner)
        : this.#partitions.ofSession(pipeline, request, owner, inFlight);
    await this.#connection.readPipeline(pipeline);
    const others = [...plain.waiting, ...overdue.waiting];
    const choice = chooseTasks([...others, ...some.waiting], limit, served, newMax);
    if (newMax === 0 || !choice.isFull) return foundTasks(choice, limit, [plain, some, lapse]);
    const again = new Pipeline();
    const chosen = this.#partitions.ofSession(again, request, owner, [...choice.served]);
    await this.#connection.readPipeline(again);
    const waiting = [...others, ...chosen.waiting];
    return foundTasks(chooseTasks(waiting, limit, choice.served, 0), limit, [plain, lapse, chosen]);
  }
}
