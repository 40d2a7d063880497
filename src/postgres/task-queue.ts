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
//   Q6. Finding locks nothing (task-takes.ts takes): what others took meanwhile is looked for anew.

import { chooseTasks, foundTasks, type FoundTasks } from "../core/provider/task-choice.ts";
import type { LeasedTask, LeasedTasks, LeaseTasksRequest } from "../core/provider/tasks.ts";
import type { Connection } from "./connection.ts";
import type { Notifier } from "./notifications.ts";
import { Pipeline } from "./pipeline.ts";
import { TaskCuts, type Waiting } from "./task-cuts.ts";
import type { TaskTakes } from "./task-takes.ts";

const NOTHING: LeasedTasks = { tasks: [], more: false, nextAt: null };
/** How often what was found is looked for anew because others took all of it. */
const ROUNDS = 3;

export class TaskQueue {
  readonly #connection: Connection;
  readonly #notifier: Notifier;
  readonly #takes: TaskTakes;
  readonly #cuts: TaskCuts;

  constructor(connection: Connection, notifier: Notifier, takes: TaskTakes) {
    this.#connection = connection;
    this.#notifier = notifier;
    this.#takes = takes;
    this.#cuts = new TaskCuts(connection);
  }

  async lease(request: LeaseTasksRequest): Promise<LeasedTasks> {
    if (request.tags === "none") return NOTHING;
    this.#notifier.serves(request.owner, { names: request.names });
    if (request.again === true) {
      const tasks = await this.#takes.again(request);
      if (tasks.length > 0) return { tasks, more: true, nextAt: null };
    }
    for (let round = 1; ; round += 1) {
      const { waiting, more, nextAt } = await this.#find(request);
      if (waiting.length === 0) return { tasks: [], more, nextAt };
      const tasks: LeasedTask[] = await this.#takes.take(request, waiting);
      if (tasks.length > 0) return { tasks, more, nextAt };
      // Others took all of it; or nothing is for the caller, because it was declared dead.
      if (!(await this.#takes.knows(request.owner))) return NOTHING;
      if (round === ROUNDS) return { tasks, more, nextAt };
    }
  }

  async #find(request: LeaseTasksRequest): Promise<FoundTasks<Waiting>> {
    const { limit, sessions } = request;
    const pipeline = new Pipeline();
    const plain = this.#cuts.plain(pipeline, request);
    const overdue = this.#cuts.overdue(pipeline, request);
    if (sessions === null) {
      await this.#connection.look(pipeline);
      const others = [...plain.waiting, ...overdue.waiting];
      return foundTasks(chooseTasks(others, limit, new Set(), 0), limit, [plain]);
    }
    const { owner, inFlight, newMax } = sessions;
    const lapse = this.#cuts.lapse(pipeline, owner);
    const served: ReadonlySet<string> = new Set(inFlight);
    const some =
      newMax > 0
        ? this.#cuts.ofSessions(pipeline, request, owner)
        : this.#cuts.ofSession(pipeline, request, owner, inFlight);
    await this.#connection.look(pipeline);
    const others = [...plain.waiting, ...overdue.waiting];
    const choice = chooseTasks([...others, ...some.waiting], limit, served, newMax);
    if (newMax === 0 || !choice.isFull) return foundTasks(choice, limit, [plain, some, lapse]);
    const again = new Pipeline();
    const chosen = this.#cuts.ofSession(again, request, owner, [...choice.served]);
    await this.#connection.look(again);
    const waiting = [...others, ...chosen.waiting];
    return foundTasks(chooseTasks(waiting, limit, choice.served, 0), limit, [plain, lapse, chosen]);
  }
}
