// Invariants 5, 6 and 26: a model of all leases, computed only from the calls, independently of the store.
//   5. A lease is granted only while no other lease is valid: the previous one was released or expired, or
//   its owner was declared dead. 6. No write succeeds with a replaced token (expiry alone does not replace
//   a token, I2). 26. A task is leased to record a timeout if its attempt waits for its completion from
//   outside, and only then. The model also counts the leases, retries and crashes of every task, for
//   invariants 16 and 19.

import type { CommitItem, CommitResult, TurnItem } from "../../../core/provider/commit.ts";
import type { TaskCallItem } from "../../../core/provider/callbacks.ts";
import type { TaskAddress, TaskClaim } from "../../../core/provider/tasks.ts";
import type { Carried } from "../calls.ts";
import { refill } from "./refill.ts";
import { newStory, taskKey, type TaskStory } from "./task-story.ts";

interface Lease {
  readonly owner: string;
  readonly token: number;
  until: number | null;
  /** The time of the grant, by the store's clock and since the start of the run. */
  since: number;
  readonly sinceMs: number;
}

export class LeaseModel {
  readonly #instances = new Map<number, Lease>();
  readonly #tasks = new Map<string, Lease>();
  readonly #stories = new Map<string, TaskStory>();
  /** The newest execution of each instance. */
  readonly #lives = new Map<number, number>();
  /** The registered runtimes. */
  readonly #runtimes = new Set<string>();
  #found: string[] = [];
  #keyOf: (id: string) => number | undefined = () => undefined;
  /** The time of the last call, by the store's clock. */
  #now = -Infinity;
  /** Leases of suspects, both instances and tasks. */
  readonly #trials = new Set<Lease>();
  /** The last known time at which a suspect was leased, by the store's clock. */
  lastTrialAt = -Infinity;

  get stories(): ReadonlyMap<string, TaskStory> {
    return this.#stories;
  }
  /** All leases of tasks, with the time of their grant. */
  get taskLeases(): readonly { readonly address: TaskAddress; readonly lease: Lease }[] {
    return [...this.#tasks].flatMap(([key, lease]) => {
      const address = this.#stories.get(key)?.address;
      return address === undefined ? [] : [{ address, lease }];
    });
  }
  /** Whether a runtime holds the lease of a suspect: other suspects may wait for it. */
  get hasTrial(): boolean {
    const held = new Set([...this.#instances.values(), ...this.#tasks.values()]);
    for (const lease of this.#trials) if (!held.has(lease)) this.#trials.delete(lease);
    if (this.#trials.size > 0) this.lastTrialAt = this.#now;
    return this.#trials.size > 0;
  }
  #try(lease: Lease | undefined): void {
    if (lease === undefined) return;
    this.#trials.add(lease);
    this.lastTrialAt = this.#now;
  }
  get instanceLeases(): ReadonlyMap<number, Lease> {
    return this.#instances;
  }

  /**
   * Restores leases and attempts with the store. The number of grants is not restored, since the code ran.
   */
  checkpoint(): () => void {
    const copy = <K>(leases: ReadonlyMap<K, Lease>): (readonly [K, Lease])[] =>
      [...leases].map(([key, lease]) => [key, { ...lease }] as const);
    const instances = copy(this.#instances);
    const tasks = copy(this.#tasks);
    const stories = new Map([...this.#stories].map(([key, story]) => [key, { ...story }]));
    const lives = [...this.#lives];
    const now = this.#now;
    return () => {
      // Lease times are relative to this clock. If the clock went back meanwhile, `follow` corrects them
      // again.
      this.#now = now;
      refill(this.#instances, instances);
      refill(this.#tasks, tasks);
      refill(this.#lives, lives);
      for (const [key, story] of this.#stories) {
        const {
          retries = 0,
          deaths = 0,
          releases = 0,
          isDeferred = false,
        } = stories.get(key) ?? {};
        Object.assign(story, { retries, deaths, releases, isDeferred });
      }
    };
  }

  /** Checks an executed call. Returns descriptions of the violations. */
  see(call: Carried, keyOf: (id: string) => number | undefined): string[] {
    this.#found = [];
    this.#keyOf = keyOf;
    this.follow(call.now);
    switch (call.method) {
      case "commit":
        for (const [i, item] of call.args[0].entries()) this.#commit(item, call.result[i], call);
        break;
      case "leaseInstances": {
        const { owner, leaseMs } = call.args[0];
        for (const { key, id, token, fresh, suspicion } of call.result.instances) {
          const held = this.#instances.get(key);
          if (!fresh && (held?.owner !== owner || held.token !== token)) {
            this.#found.push(`5: ${call.by} received messages of ${id} without holding its lease`);
          }
          if (!fresh) continue;
          this.#give(this.#instances, key, `instance ${id}`, owner, token, leaseMs, call);
          if (suspicion > 0) this.#try(this.#instances.get(key));
        }
        break;
      }
      case "leaseTasks": {
        const { owner, leaseMs, token } = call.args[0];
        this.#releaseMissing(owner, token, call.result.tasks);
        for (const task of call.result.tasks) {
          const key = taskKey(task);
          const story = this.#story(task, task.name);
          const held = this.#tasks.get(key);
          if (held?.token === task.token) continue; // the reply to its first call was lost
          if (!story.isDeferred) {
            story.grants++;
            if (held !== undefined) story.deaths++;
          }
          story.attempt = task.attempt + 1;
          const what = `task ${task.name} of ${task.instanceId}/${task.sequence}`;
          if (story.isDeferred && task.deferred === undefined) {
            this.#found.push(`26: ${what} was leased to run, but waits for its completion`);
          } else if (!story.isDeferred && task.deferred !== undefined) {
            this.#found.push(`26: ${what} was leased to record a timeout, but does not wait`);
          }
          this.#give(this.#tasks, key, what, owner, task.token, leaseMs, call);
          if (task.suspect) this.#try(this.#tasks.get(key));
        }
        break;
      }
      case "renewInstances": {
        const [leases, leaseMs] = call.args;
        const kept = leases.filter(({ key }) => !call.result.includes(key));
        for (const { key, token } of kept) {
          this.#renew(this.#instances.get(key), token, call.now + leaseMs, `instance ${key}`);
        }
        break;
      }
      case "renewTasks": {
        const [claims, leaseMs] = call.args;
        const lost = new Set(call.result.map(taskKey));
        for (const claim of claims.filter((each) => !lost.has(taskKey(each)))) {
          const key = taskKey(claim);
          this.#renew(this.#tasks.get(key), claim.token, call.now + leaseMs, `task ${key}`);
        }
        break;
      }
      case "registerRuntime":
        this.#runtimes.add(call.args[0].id);
        break;
      case "expireRuntime":
        if (call.result.expired) this.#free(call.args[0].id, true);
        break;
      case "removeRuntime":
        this.#free(call.args[0], false);
        break;
      default:
    }
    return this.#found;
  }

  #give<K>(
    leases: Map<K, Lease>,
    key: K,
    what: string,
    owner: string,
    token: number,
    leaseMs: number | undefined,
    { now, atMs: sinceMs, by }: Carried,
  ): void {
    const held = leases.get(key);
    if (held?.owner === owner && held.token === token) return; // the reply to its first call was lost
    if (held !== undefined && (held.until === null || held.until > now)) {
      this.#found.push(`5: ${what} was leased to ${by} while ${held.owner} held its lease`);
    }
    const until = leaseMs === undefined ? null : now + leaseMs;
    leases.set(key, { owner, token, until, since: now, sinceMs });
  }

  /**
   * When the clock goes back, the store moves its leases so that their remaining time stays the same. A
   * store may ignore small steps. The store corrects its leases at the first request after the step,
   * whatever sends that request. The model must therefore follow every request, also the reads of the
   * inspector: a correction that the model notices later looks smaller.
   */
  follow(now: number): void {
    const backMs = this.#now - now;
    this.#now = now;
    if (backMs <= 0) return;
    this.lastTrialAt = Math.min(this.lastTrialAt, now);
    for (const lease of [...this.#instances.values(), ...this.#tasks.values()]) {
      if (lease.until !== null) lease.until -= backMs;
      lease.since = Math.min(lease.since, now);
    }
  }

  #renew(lease: Lease | undefined, token: number, until: number, what: string): void {
    if (lease?.token !== token) this.#found.push(`6: a lost lease was renewed: ${what}`);
    else if (lease.until !== null) lease.until = until;
  }

  /** A repeated request releases the tasks that its first call admitted under a rate (provider.queues.3). */
  #releaseMissing(owner: string, token: number, tasks: readonly TaskAddress[]): void {
    const returned = new Set(tasks.map(taskKey));
    for (const [key, lease] of this.#tasks) {
      if (lease.owner !== owner || lease.token !== token || returned.has(key)) continue;
      this.#tasks.delete(key);
      const story = this.#stories.get(key);
      if (story !== undefined) story.releases++;
    }
  }

  #free(owner: string, isDeath: boolean): void {
    this.#runtimes.delete(owner);
    for (const [key, lease] of this.#instances) {
      if (lease.owner === owner) this.#instances.delete(key);
    }
    for (const [key, lease] of this.#tasks) {
      if (lease.owner !== owner) continue;
      this.#tasks.delete(key);
      const story = this.#stories.get(key);
      if (story === undefined) continue;
      if (!isDeath) story.releases++;
      else if (!story.isDeferred) story.deaths++;
    }
  }

  #commit(item: CommitItem, result: CommitResult | undefined, { now, atMs }: Carried): void {
    if (result === undefined || result.kind === "refused" || result.kind === "error") return;
    switch (item.kind) {
      case "turn":
        return this.#turn(item, now, atMs);
      case "start": {
        if (result.kind !== "started") return;
        const { key } = result;
        // A repeated request returns its first outcome again.
        if ((this.#lives.get(key) ?? 0) >= result.execution) return;
        this.#lives.set(key, result.execution);
        this.#forget(key);
        if (result.leased === null || item.lease === null) return;
        const { owner, token, leaseMs } = item.lease;
        const until = leaseMs === undefined ? null : now + leaseMs;
        this.#instances.set(key, { owner, token, until, since: now, sinceMs: atMs });
        return;
      }
      case "completion":
        return void this.#takeTask(item.task, "an outcome");
      case "retry": {
        const story = this.#takeTask(item.task, "a retry");
        if (story === null) return;
        if (item.died === true) story.deaths++;
        else story.retries++;
        story.isDeferred = false;
        return;
      }
      case "releaseTask": {
        const story = this.#takeTask(item.task, "a release");
        if (story !== null) story.releases++;
        return;
      }
      case "defer": {
        const story = this.#takeTask(item.task, "a deferral");
        if (story !== null) story.isDeferred = true;
        return;
      }
      case "callTask":
        return this.#callTask(item);
      case "append":
        return this.#mustHold(item.task, `an append to ${item.name}`);
      case "stepOutcome":
        return this.#must(item.key, item.token, "a step's outcome");
      case "block":
      case "releaseInstance":
        this.#must(item.key, item.token, item.kind);
        this.#instances.delete(item.key);
        return;
      default:
    }
  }

  /** A call from outside needs no token. One that ends the attempt of a lease ends the lease (provider.callbacks.4). */
  #callTask({ id, execution, sequence, call }: TaskCallItem): void {
    const key = this.#keyOf(id);
    if (key === undefined || call.kind === "heartbeat") return;
    const name = taskKey({ key, execution, sequence });
    const story = this.#stories.get(name);
    if (story === undefined) return;
    story.isCalled = true;
    if (call.kind === "complete" || call.attempt === story.attempt) {
      this.#tasks.delete(name);
      story.isDeferred = false;
    }
    if (call.kind === "fail") story.failedOutside.add(call.attempt);
  }

  #turn(item: TurnItem, now: number, sinceMs: number): void {
    const { key, execution } = item;
    const what = `a turn (${item.row?.first ?? "no events"})`;
    if (item.isUnleased === true) this.#mustBeFree(key, what);
    else this.#must(key, item.token, what);
    for (const claim of item.finished) this.#takeTask(claim, "a turn");
    for (const { sequence, name, lease } of item.tasks) {
      const address = { key, execution, sequence };
      const story = this.#story(address, name);
      if (lease === null) continue;
      story.grants++;
      story.attempt = 1;
      // The first turn of a job needs no lease, so also a runtime that was declared dead can write one (commit.6). Its task
      // goes to the queue; the runtime runs it until it learns that it is dead.
      if (item.isUnleased === true && !this.#runtimes.has(lease.owner)) continue;
      const until = lease.leaseMs === undefined ? null : now + lease.leaseMs;
      const { owner, token } = lease;
      this.#tasks.set(taskKey(address), { owner, token, until, since: now, sinceMs });
    }
    for (const sequence of item.cancelledTasks)
      this.#tasks.delete(taskKey({ key, execution, sequence }));
    if (item.change.kind === "continued") this.#lives.set(key, execution + 1);
    if (item.change.kind !== "none") this.#forgetTasks(key);
    if (item.change.kind === "ended" || item.release) this.#instances.delete(key);
  }

  /** Drops the leases of an instance that was ended from outside or restarted. */
  forget(key: number): void {
    this.#forget(key);
  }
  #forget(key: number): void {
    this.#instances.delete(key);
    this.#forgetTasks(key);
  }
  #forgetTasks(instance: number): void {
    for (const key of this.#tasks.keys())
      if (key.startsWith(`${instance}:`)) this.#tasks.delete(key);
  }

  #takeTask(claim: TaskClaim, what: string): TaskStory | null {
    const key = taskKey(claim);
    this.#mustHold(claim, what);
    this.#tasks.delete(key);
    return this.#stories.get(key) ?? null;
  }

  #mustHold(claim: TaskClaim, what: string): void {
    const key = taskKey(claim);
    if (this.#tasks.get(key)?.token === claim.token) return;
    this.#found.push(`6: ${what} of task ${key} was written with a replaced token`);
  }

  #must(key: number, token: number, what: string): void {
    if (this.#instances.get(key)?.token === token) return;
    this.#found.push(`6: ${what} of instance ${key} was written with a replaced token`);
  }

  /** The last turn of a job needs no lease, but no other worker may hold one (commit.7). */
  #mustBeFree(key: number, what: string): void {
    const lease = this.#instances.get(key);
    if (lease === undefined) return;
    this.#found.push(
      `6: ${what} of instance ${key} was written while ${lease.owner} held its lease`,
    );
  }

  #story(address: TaskAddress, name: string): TaskStory {
    const id = taskKey(address);
    let story = this.#stories.get(id);
    if (story === undefined) {
      story = newStory(address, name);
      this.#stories.set(id, story);
    }
    return story;
  }
}
