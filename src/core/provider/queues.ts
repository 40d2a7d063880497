// Queues: the tasks of one activity name, with the rules that limit and order them over all processes.
//   - provider.queues.1: A runtime declares the rule of every activity that it registers when it starts. The newest
//     declaration counts, also a declaration without a rule. Most activities have no rule, and leasing their tasks costs
//     nothing more.
//   - provider.queues.2: `concurrency`: at most that many tasks of the name are leased or deferred at any time. `perKey`:
//     the same for the tasks of one queue key; tasks without a key share the empty key. The lease of a dead worker ends
//     with its takeover, and so does its slot. A task that waits for its next attempt holds no slot.
//   - provider.queues.3: `rate`: `leaseTasks` admits at most `count` tasks of the name per window of `perMs`, over any
//     window. An admission is valid until `enterWithinMs` after the request, and the next window is counted from the end of
//     its validity: a worker that enters its tasks within that time never exceeds the rate. A retry needs a new admission.
//     A worker that has entered its tasks earlier, or too late after all, says so, and the window is counted from then
//     (`adjustAdmissions`).
//   - provider.queues.4: `fair`: tasks are leased in weighted round robin over their queue keys, within one priority and one
//     set of tags. A task without a weight has the weight 1; tasks without a key count as one key. Each key has a virtual
//     time at which its next task starts; the task with the earliest start is first, and moves the next start of its key
//     by 1 / weight. A key that had no waiting tasks begins at the latest start that was leased. With very many keys, a
//     store may choose among some of them in each request, in turn.
//   - provider.queues.5: A task that a limit holds back does not hold back tasks of other names or of other keys. The cost
//     of a lease must not grow with the number of tasks that are held back.
//   - provider.queues.6: `leaseTasks` returns no task of a paused queue. Attempts that run go on.
//   - provider.queues.7: A turn may insert a task with a lease. The store does not apply rules to it: a runtime must not
//     lease tasks of a queue with a rule or a pause that way (`ruled` in WorkSummary). It knows its own rules from the
//     start, and the pauses and rules of others since its last `peek`.

/** Limits and order of the tasks of one activity. At least one member is set. */
export interface QueueRule {
  readonly concurrency?: number;
  readonly perKey?: number;
  readonly rate?: { readonly count: number; readonly perMs: number };
  readonly fair?: true;
}
/** The rule of a registered activity; null: it has none. */
export interface QueueDeclaration {
  readonly name: string;
  readonly rule: QueueRule | null;
}
/** A declaration that replaced the different rule of another runtime. */
export interface ReplacedRule {
  readonly name: string;
  readonly previous: QueueRule | null;
  /** The runtime that declared the previous rule. */
  readonly declaredBy: string;
  /** Whether that runtime is still registered. */
  readonly isLive: boolean;
}
/** A queue with a rule or a pause. */
export interface QueueState {
  readonly name: string;
  readonly rule: QueueRule | null;
  /** JSON text { reason?, by?, at }; null: not paused. */
  readonly paused: string | null;
}
/** How many attempts of a queue ended, since the last report of the runtime. */
export interface QueueOutcomes {
  readonly name: string;
  readonly completed: number;
  /** Final failures. */
  readonly failed: number;
  readonly retried: number;
}
/** Admissions of one request under the rate of a queue, all of whose tasks have been entered. */
export interface EnteredAdmissions {
  readonly name: string;
  /** LeasedTask.admittedUntil */
  readonly until: number;
  readonly number: number;
  /** By when they had been entered: before `until`, or later if the worker was late. */
  readonly enteredBy: number;
}
/** Figures of one queue. */
export interface QueueFigures {
  readonly name: string;
  /** Due tasks that no worker holds, and due jobs whose start no worker has taken. */
  readonly waiting: number;
  readonly running: number;
  /** Tasks that are due later: retries, deferred tasks, and jobs that begin later. */
  readonly delayed: number;
  readonly oldestAvailableAt: number | null;
  /** Outcomes of the last 60 seconds; older reports are forgotten. */
  readonly recent: Omit<QueueOutcomes, "name">;
  /** Job instances of this name that failed and are still stored. */
  readonly failedJobs: number;
}
/** A queue key with waiting tasks. */
export interface QueueKeyFigures {
  /** Empty: the tasks without a key. */
  readonly key: string;
  readonly waiting: number;
  readonly running: number;
}

/** The part of a provider that keeps queues. */
export interface QueueStore {
  /** provider.queues.1. Writes only what changes. */
  declareQueues(
    runtimeId: string,
    declarations: readonly QueueDeclaration[],
  ): Promise<readonly ReplacedRule[]>;
  /** All queues with a rule or a pause, ordered by name. */
  readQueueStates(): Promise<readonly QueueState[]>;
  /** Pauses a queue; the first pause counts. The queue need not have tasks. */
  pauseQueue(name: string, info: string): Promise<void>;
  resumeQueue(name: string): Promise<void>;
  /**
   * Moves the end of the validity of admissions (provider.queues.3) and notifies workers. Does nothing for admissions that
   * the store no longer counts.
   */
  adjustAdmissions(admissions: readonly EnteredAdmissions[]): Promise<void>;
  /** Adds to the recent outcomes (QueueFigures). */
  reportOutcomes(outcomes: readonly QueueOutcomes[]): Promise<void>;
  /** One row per name that has tasks, recent outcomes, failed jobs, a rule or a pause, ordered by name. */
  readQueueFigures(): Promise<readonly QueueFigures[]>;
  /** The keys of a queue with the most waiting tasks, most first. */
  readQueueKeys(name: string, limit: number): Promise<readonly QueueKeyFigures[]>;
}
