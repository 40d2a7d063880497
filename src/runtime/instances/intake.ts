// Intake: polls the store for instances and tasks when there is capacity. It polls on notifications, when
// something comes due, and on each tick of the upkeep loop.
//   - It takes nothing beyond the free capacity. A wake without capacity is remembered until capacity is
//     free (I12).
//   - While tasks wait in the queue, no new task is pre-leased ahead of them (ARCHITECTURE.md, "The path of one step").
//   - On a notification about an idle instance held here, its messages are fetched, unless the notification
//     contains them. A busy one gets them with the reply to its commit.
//   - intake.1: While a suspect instance has a turn in flight, no other instance is leased. If the
//     process dies, the suspect is known to be the cause.
//   - New instances of a name and priority whose begin window is full are not leased (begin-window.ts).
//   - intake.3: At the maximum of sessions, a request does not look for tasks of further sessions. They may
//     wait if tasks were queued or came due since the last request that looked for them.
//   - intake.2: A request without a reply is repeated under the same token, so that leases it took are
//     not stranded.

import type { LeasedInstances } from "../../core/provider/instances.ts";
import type { DueEvent, News } from "../../core/provider/notifications.ts";
import type { LeasedTask, LeasedTasks, SessionRequest } from "../../core/provider/tasks.ts";
import type { RuntimeContext } from "../context.ts";
import { isBusy, type HeldInstance } from "./held-instance.ts";
import { Poller, type PollResult } from "./poller.ts";
import type { RequestKind } from "./suspect-slot.ts";
import { MESSAGES_MIN } from "../replay/turn-commit.ts";

const NOTHING: PollResult = { again: false, nextAt: null };

export class Intake {
  readonly #runtime: RuntimeContext;
  readonly #forInstances: Poller;
  readonly #forTasks: Poller;
  #instancesWait = false;
  #tasksWait = false;
  /** Tasks of sessions that this runtime could not claim may be waiting (intake.3). */
  #sessionsWait = false;
  /** Whether tasks were queued since the last request for tasks. */
  #tasksQueued = false;
  /** When the next task comes due, as the last request reported (store clock). */
  #tasksNextAt = Infinity;
  /** Tokens of requests without a reply (intake.2). */
  #instancesToken: number | null = null;
  #tasksToken: number | null = null;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
    this.#forInstances = new Poller(runtime, () => this.#pollInstances());
    this.#forTasks = new Poller(runtime, () => this.#pollTasks());
  }

  get tasksWait(): boolean {
    return this.#tasksWait;
  }

  /**
   * Whether tasks of sessions without running tasks may wait in the queue, or a request in flight may claim
   * such a session.
   */
  get sessionsWait(): boolean {
    return this.#sessionsWait || this.#tasksToken !== null;
  }

  /** Whether no request is in flight or about to be sent. */
  get isIdle(): boolean {
    return this.#forInstances.isIdle && this.#forTasks.isIdle;
  }

  /** The tokens under which requests in flight may have taken leases. */
  get expected(): Iterable<number> {
    return [this.#instancesToken, this.#tasksToken].filter((token) => token !== null);
  }

  stop(): void {
    this.#forInstances.stop();
    this.#forTasks.stop();
  }

  wake(): void {
    this.#tasksQueued = true; // a notification about a queued task may have been lost (intake.3)
    this.#forInstances.wake();
    this.#forTasks.wake();
  }
  wakeFor(kind: RequestKind): void {
    (kind === "tasks" ? this.#forTasks : this.#forInstances).wake();
  }
  wakeInstancesIn(delayMs: number): void {
    this.#forInstances.wakeIn(delayMs);
  }
  wakeTasksIn(delayMs: number): void {
    this.#forTasks.wakeIn(delayMs);
  }

  /** Tasks were added to the queue. */
  queued(): void {
    this.#tasksWait = true;
    this.#tasksQueued = true;
    this.#forTasks.wake(); // without a free slot it sends no request
  }
  slotFree(): void {
    if (this.#tasksWait || this.#sessionsWait) this.#forTasks.wake();
  }
  turnFree(): void {
    if (this.#instancesWait) this.#forInstances.wake();
  }

  /** The store reported changes. */
  onChanges(changes: News): void {
    let unheld = false;
    for (const id of changes.due) {
      const held = this.#runtime.heldInstances.cache.byId(id);
      if (held === undefined) unheld = true;
      else if (isBusy(held)) held.hasUnseenMessages = true;
      else if (!this.#giveEvent(held, changes.dueEvents?.get(id))) {
        void this.#takeMessages(held.key);
      }
    }
    if (unheld) this.#forInstances.wake();
    if (changes.tasks) this.queued();
  }

  /** Messages came due for an instance while its commit was in flight. */
  onUnseenMessages(key: number): void {
    if (this.#runtime.heldInstances.cache.byKey(key) === undefined) this.#forInstances.wake();
    else void this.#takeMessages(key);
  }

  /**
   * Delivers an event that the notification contains. Returns false if other messages wait here, or if a turn
   * was committed after the event was stored, or may have been: that turn may have consumed the event.
   */
  #giveEvent(held: HeldInstance, event: DueEvent | undefined): boolean {
    if (event === undefined || held.messages.length > 0) return false;
    if (held.lastCommit !== event.lastCommit) return false;
    const { instances, turnResults } = this.#runtime;
    instances.giveMessages(held, [event.message], turnResults.commits);
    return true;
  }

  async #takeMessages(key: number): Promise<void> {
    const { provider, heldInstances, instances, turnResults } = this.#runtime;
    const readAtCommit = turnResults.commits;
    try {
      const messages = await provider.takeMessages([key], MESSAGES_MIN);
      const held = heldInstances.cache.byKey(key);
      if (held !== undefined) instances.giveMessages(held, messages.get(key) ?? [], readAtCommit);
    } catch (error) {
      this.#runtime.onStoreError(error);
      this.#forInstances.wake();
    }
  }

  async #pollInstances(): Promise<PollResult> {
    const { provider, registry, suspects, heldInstances, instances } = this.#runtime;
    const { turnConcurrency, leaseBatch, instanceLeaseMs, priorityAgeingMs } =
      this.#runtime.options;
    const limit = Math.min(turnConcurrency - heldInstances.busy, leaseBatch);
    const busy = Math.min(heldInstances.busy, leaseBatch);
    // While a suspect has a turn in flight, no other instance begins (intake.1).
    const hasRoom = limit > 0 && !heldInstances.isTryingSuspect;
    if (!hasRoom) this.#instancesWait = true; // retried when a turn ends
    if (!hasRoom || !this.#runtime.isRunning) return NOTHING;
    const readAtCommit = this.#runtime.turnResults.commits;
    const { allowSuspect } = suspects.reserve("instances");
    const again = this.#instancesToken !== null;
    const token = (this.#instancesToken ??= this.#runtime.newToken());
    const heldBack = this.#runtime.window.heldBack();
    let leased: LeasedInstances;
    try {
      leased = await provider.leaseInstances({
        owner: this.#runtime.id,
        token,
        again,
        limit,
        ...(busy === 0 ? {} : { busy }),
        targets: registry.targets,
        codes: registry.codes,
        allowSuspect,
        messagesMax: MESSAGES_MIN,
        ageingMs: priorityAgeingMs,
        ...(heldBack.length === 0 ? {} : { heldBack }),
        ...(instanceLeaseMs === undefined ? {} : { leaseMs: instanceLeaseMs }),
      });
      this.#instancesToken = null;
      for (const instance of leased.instances) instances.take(instance, readAtCommit);
    } finally {
      suspects.answered("instances");
    }
    const tookNew = leased.instances.some((instance) => instance.fresh);
    this.#instancesWait = leased.more;
    return { again: leased.more && tookNew, nextAt: leased.nextAt };
  }

  async #pollTasks(): Promise<PollResult> {
    const { options, provider, registry, activities, queues, sessions, suspects, window } =
      this.#runtime;
    if (options.tags === "none") return NOTHING;
    const { leaseBatch, taskLeaseMs, priorityAgeingMs } = options;
    const { avoidMs } = this.#runtime.unclaimed;
    const limit = Math.min(activities.free, leaseBatch);
    if (limit <= 0) this.#tasksWait = true; // retried when a slot is free
    if (limit <= 0 || !this.#runtime.isRunning) return NOTHING;
    activities.reserve(limit); // otherwise a task pre-leased in the meantime could take the same slot
    const allowed = suspects.reserve("tasks");
    const again = this.#tasksToken !== null;
    const token = (this.#tasksToken ??= this.#runtime.newToken());
    const { enterWithinMs } = queues;
    const requestedAt = this.#runtime.monotonic();
    const sessionRequest = sessions.request(this.#runtime.newToken());
    const mayWait = this.#tasksQueued || this.#tasksNextAt <= this.#runtime.storeNow();
    this.#tasksQueued = false;
    let leased: LeasedTasks;
    try {
      leased = await provider.leaseTasks({
        owner: this.#runtime.id,
        token,
        again,
        limit,
        names: registry.activityNames,
        tags: options.tags,
        sessions: sessionRequest,
        ...allowed,
        ageingMs: priorityAgeingMs,
        enterWithinMs,
        ...(avoidMs === 0 ? {} : { avoidMs }),
        ...(taskLeaseMs === undefined ? {} : { leaseMs: taskLeaseMs }),
      });
    } catch (error) {
      suspects.answered("tasks");
      this.#tasksQueued ||= mayWait;
      throw error;
    } finally {
      activities.unreserve(limit);
    }
    this.#tasksToken = null;
    const admissions = queues.admissions(leased.tasks, { requestedAt, enterWithinMs });
    for (const task of leased.tasks) {
      window.taken(task.key);
      activities.start(task, admissions);
    }
    if (leased.tasks.length < limit && !leased.more) window.queueWasEmpty(requestedAt);
    suspects.answered("tasks");
    this.#tasksWait = leased.more;
    this.#tasksNextAt = leased.nextAt ?? Infinity;
    if (sessionRequest?.newMax === 0)
      this.#sessionsWait ||= mayWait; // intake.3
    else this.#sessionsWait = sessionRequest !== null && usesAll(sessionRequest, leased.tasks);
    return { again: leased.more && leased.tasks.length > 0, nextAt: leased.nextAt };
  }
}

/** Whether the tasks use all sessions that the request could claim, so that others may have been skipped. */
function usesAll({ inFlight, newMax }: SessionRequest, tasks: readonly LeasedTask[]): boolean {
  const claimed = new Set(tasks.flatMap(({ session }) => session ?? []));
  for (const session of inFlight) claimed.delete(session);
  return claimed.size >= newMax;
}
