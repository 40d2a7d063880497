// Intake: asks the store for instances and tasks as there is room, on news, when something comes due, and when
// the safety net says so.
//   WI1. Nothing is taken that there is no room for; being asked without room is remembered (I12).
//   WI2. While tasks wait in the queue a new one is not born leased past them (architecture §4.4).
//   WI3. News about an instance that is held here is fetched for it; a busy one is told by its own commit.
//   WI5. While a suspect instance has a turn in flight no other instance is taken, so that its death is its own.
//   WI6. Instances of a name and priority that has enough waiting here are not begun (begin-window.ts).
//   WI4. A request whose answer never came is made again under its token, so that what it took is not stranded.

import type { Environment } from "../core/environment.ts";
import type { LeasedInstances } from "../core/provider/instances.ts";
import type { News } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { LeasedTasks } from "../core/provider/tasks.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";
import type { ActivityRunner } from "./activity-runner.ts";
import { Asker } from "./asker.ts";
import type { BeginWindow } from "./begin-window.ts";
import type { Instances } from "./instances.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Registry } from "./registry.ts";
import type { Sessions } from "./sessions.ts";
import type { Asking, SuspectSlot } from "./suspect-slot.ts";
import { MESSAGES_MIN } from "./turn-commit.ts";

export interface WorkIntakeOptions {
  readonly runtimeId: string;
  readonly provider: Provider;
  readonly options: ResolvedOptions;
  readonly registry: Registry;
  readonly wheel: TimerWheel;
  readonly sessions: Sessions;
  readonly suspects: SuspectSlot;
  readonly window: BeginWindow;
  /** Made after the intake, which they call back. */
  readonly instances: () => Instances;
  readonly activities: () => ActivityRunner;
  readonly isRunning: () => boolean;
  readonly newToken: () => number;
  /** For how long a task that failed here is left to others; 0 when there are none. */
  readonly avoidMs: () => number;
  readonly trouble: (error: unknown) => void;
}

interface Asked {
  readonly again: boolean;
  readonly nextAt: number | null;
}
const NOTHING: Asked = { again: false, nextAt: null };

export class WorkIntake {
  readonly #o: WorkIntakeOptions;
  readonly #forInstances: Asker;
  readonly #forTasks: Asker;
  #instancesWait = false;
  #tasksWait = false;
  /** No further session could be claimed when last asked: their tasks may be waiting. */
  #sessionsWait = false;
  /** Tokens of requests that have had no answer (WI4). */
  #instancesToken: number | null = null;
  #tasksToken: number | null = null;

  constructor(options: WorkIntakeOptions) {
    this.#o = options;
    const environment: Environment = options.provider.environment;
    const common = {
      environment,
      wheel: options.wheel,
      storeNow: () => options.provider.now(),
      onError: options.trouble,
    };
    this.#forInstances = new Asker({ ...common, source: { ask: () => this.#askInstances() } });
    this.#forTasks = new Asker({ ...common, source: { ask: () => this.#askTasks() } });
  }

  get tasksWait(): boolean {
    return this.#tasksWait;
  }

  /** Whether a request whose answer is still to come may have taken leases under this token. */
  isExpected(token: number): boolean {
    return token === this.#instancesToken || token === this.#tasksToken;
  }

  stop(): void {
    this.#forInstances.stop();
    this.#forTasks.stop();
  }

  wake(): void {
    this.#forInstances.wake();
    this.#forTasks.wake();
  }
  wakeFor(asking: Asking): void {
    (asking === "tasks" ? this.#forTasks : this.#forInstances).wake();
  }
  wakeInstancesIn(delayMs: number): void {
    this.#forInstances.wakeIn(delayMs);
  }
  wakeTasksIn(delayMs: number): void {
    this.#forTasks.wakeIn(delayMs);
  }

  /** Tasks were written for the queue. */
  queued(): void {
    this.#tasksWait = true;
    this.#forTasks.wake(); // without a free slot it asks nothing
  }
  slotFree(): void {
    if (this.#tasksWait || this.#sessionsWait) this.#forTasks.wake();
  }
  turnFree(): void {
    if (this.#instancesWait) this.#forInstances.wake();
  }

  /** A commit of this process made something due. */
  hear(news: News): void {
    let unheld = false;
    for (const id of news.due) {
      const held = this.#o.instances().heldById(id);
      if (held === undefined) unheld = true;
      else if (held.state === "idle") void this.#takeMessages(held.key);
      else held.called = true;
    }
    if (unheld) this.#forInstances.wake();
    if (news.tasks) this.queued();
  }

  /** Messages came for an instance while its commit was under way. */
  called(key: number): void {
    if (this.#o.instances().heldByKey(key) === undefined) this.#forInstances.wake();
    else void this.#takeMessages(key);
  }

  async #takeMessages(key: number): Promise<void> {
    const instances = this.#o.instances();
    const { stamp } = instances;
    try {
      const messages = await this.#o.provider.takeMessages([key], MESSAGES_MIN);
      const held = instances.heldByKey(key);
      if (held !== undefined) instances.giveMessages(held, messages.get(key) ?? [], stamp);
    } catch (error) {
      this.#o.trouble(error);
      this.#forInstances.wake();
    }
  }

  async #askInstances(): Promise<Asked> {
    const { options, provider, registry, runtimeId, newToken, suspects } = this.#o;
    const instances = this.#o.instances();
    const { turnConcurrency, leaseBatch, instanceLeaseMs, priorityAgeingMs } = options;
    const limit = Math.min(turnConcurrency - instances.holding.busy, leaseBatch);
    // Nothing new is begun while a suspect has a turn in flight, so that its death is its own (WI5).
    const hasRoom = limit > 0 && !instances.holding.isTrying;
    if (!hasRoom) this.#instancesWait = true; // the next free turn looks
    if (!hasRoom || !this.#o.isRunning()) return NOTHING;
    const { stamp } = instances;
    const allowSuspect = suspects.reserve("instances");
    const again = this.#instancesToken !== null;
    const token = (this.#instancesToken ??= newToken());
    const heldBack = this.#o.window.heldBack();
    let leased: LeasedInstances;
    try {
      leased = await provider.leaseInstances({
        owner: runtimeId,
        token,
        again,
        limit,
        targets: registry.targets,
        codes: registry.codes,
        allowSuspect,
        messagesMax: MESSAGES_MIN,
        ageingMs: priorityAgeingMs,
        ...(heldBack.length === 0 ? {} : { heldBack }),
        ...(instanceLeaseMs === undefined ? {} : { leaseMs: instanceLeaseMs }),
      });
      this.#instancesToken = null;
      for (const instance of leased.instances) instances.take(instance, stamp);
    } finally {
      suspects.answered("instances");
    }
    const tookNew = leased.instances.some((instance) => instance.fresh);
    this.#instancesWait = leased.more;
    return { again: leased.more && tookNew, nextAt: leased.nextAt };
  }

  async #askTasks(): Promise<Asked> {
    const { options, provider, registry, runtimeId, newToken, sessions, suspects } = this.#o;
    const { window } = this.#o;
    const activities = this.#o.activities();
    if (options.tags === "none") return NOTHING;
    const { leaseBatch, taskLeaseMs, priorityAgeingMs } = options;
    const avoidMs = this.#o.avoidMs();
    const limit = Math.min(activities.free, leaseBatch);
    if (limit <= 0) this.#tasksWait = true; // the next free slot looks
    if (limit <= 0 || !this.#o.isRunning()) return NOTHING;
    activities.reserve(limit); // or a task that is born meanwhile would take the same slot
    const allowSuspect = suspects.reserve("tasks");
    const again = this.#tasksToken !== null;
    const token = (this.#tasksToken ??= newToken());
    const askedAt = provider.environment.monotonic();
    let leased: LeasedTasks;
    try {
      leased = await provider.leaseTasks({
        owner: runtimeId,
        token,
        again,
        limit,
        names: registry.activityNames,
        tags: options.tags,
        sessions: sessions.request(newToken()),
        allowSuspect,
        ageingMs: priorityAgeingMs,
        ...(avoidMs === 0 ? {} : { avoidMs }),
        ...(taskLeaseMs === undefined ? {} : { leaseMs: taskLeaseMs }),
      });
    } catch (error) {
      suspects.answered("tasks");
      throw error;
    } finally {
      activities.unreserve(limit);
    }
    this.#tasksToken = null;
    for (const task of leased.tasks) {
      window.taken(task.key);
      activities.start(task);
    }
    if (leased.tasks.length < limit && !leased.more) window.queueWasEmpty(askedAt);
    suspects.answered("tasks");
    this.#tasksWait = leased.more;
    this.#sessionsWait = sessions.isFull;
    return { again: leased.more && leased.tasks.length > 0, nextAt: leased.nextAt };
  }
}
