// Turn results: what follows when the commit of a turn has returned.
//   IN1. A turn's effects leave this runtime only after its commit returned (I13): tasks and steps are entered,
//        log lines written, cancels carried out in `committed`.
//   IN2. A refused commit drops the live run; outcomes whose task is still ours go to the inbox (semantics 4a).
//   IN3. A refused turn may be written, its answer lost, and others gone on from it: its born tasks are handed back.

import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import type { EventBody } from "../core/history-events.ts";
import { inOrder } from "../core/inbox-delivery.ts";
import { instanceFields } from "../core/log-fields.ts";
import type { WaitingRecord } from "../core/provider/admin.ts";
import type { TurnItem } from "../core/provider/commit.ts";
import type { Message } from "../core/provider/messages.ts";
import type { BufferedLog } from "../core/run.ts";
import { acceptsTags } from "../core/tags.ts";
import { startTarget } from "../core/targets.ts";
import type { ActivityRunner } from "./activity-runner.ts";
import type { BeginWindow } from "./begin-window.ts";
import type { Blocker } from "./blocker.ts";
import { bornTasks } from "./born-tasks.ts";
import { logFailedInstance } from "../core/failure-lines.ts";
import { loggedInstance, type HeldInstance } from "./held-instance.ts";
import type { Holding } from "./holding.ts";
import type { InstanceCache } from "./instance-cache.ts";
import type { LimitWatch } from "./limit-watch.ts";
import { tellTurn } from "./observation.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Registry } from "./registry.ts";
import type { Shadowing } from "./shadowing.ts";
import type { RuntimeStats } from "./stats.ts";
import type { StepRunner } from "./step-runner.ts";
import type { FinishedTurn } from "./turn-job.ts";

export interface TurnResultsOptions {
  readonly environment: Environment;
  readonly options: ResolvedOptions;
  readonly registry: Registry;
  readonly activities: ActivityRunner;
  readonly steps: StepRunner;
  readonly stats: RuntimeStats;
  readonly window: BeginWindow;
  readonly storeNow: () => number;
  /** A timer was written that comes due after this many milliseconds. */
  readonly onTimer: (delayMs: number) => void;
  /** Tasks were written for the queue. */
  readonly onQueued: () => void;
  /** Messages came due during the commit of an instance that is idle now, or given back. */
  readonly onCalled: (key: number) => void;
  /** A turn was refused because its lease, its last event or a finished task is not what the store holds. */
  readonly onRefused: () => void;
  /** A turn asked for work that this runtime does not register. */
  readonly onUnknown: (kind: WaitingRecord) => void;
  /** An instance began its next execution. */
  readonly onContinued: (id: string) => void;
}

interface TurnResultsParts {
  readonly holding: Holding;
  readonly blocker: Blocker;
  readonly shadowing: Shadowing;
  readonly limits: LimitWatch;
  /** Begins the next turn of an instance that has something to be told. */
  readonly advance: (held: HeldInstance) => void;
}

export class TurnResults {
  readonly #o: TurnResultsOptions;
  readonly #holding: Holding;
  readonly #cache: InstanceCache;
  readonly #blocker: Blocker;
  readonly #shadowing: Shadowing;
  readonly #limits: LimitWatch;
  readonly #advance: (held: HeldInstance) => void;
  #commits = 0;

  constructor(options: TurnResultsOptions, parts: TurnResultsParts) {
    this.#o = options;
    this.#holding = parts.holding;
    this.#cache = parts.holding.cache;
    this.#blocker = parts.blocker;
    this.#shadowing = parts.shadowing;
    this.#limits = parts.limits;
    this.#advance = parts.advance;
  }

  /** Counts commits, so that a reader can tell what it read before one. */
  get commits(): number {
    return this.#commits;
  }

  committed(commit: {
    turn: FinishedTurn;
    item: TurnItem;
    events: readonly EventBody[];
    logs: readonly BufferedLog[];
    due: readonly Message[];
  }): void {
    const { turn, item, events } = commit;
    const { held, run } = turn;
    this.#o.stats.countTurn(events);
    if (item.change.kind === "continued") this.#o.onContinued(held.id);
    const { telemetry, log } = this.#o.options;
    for (const line of commit.logs) {
      log(line.level, line.message, { ...line.fields, ...instanceFields(loggedInstance(held)) });
    }
    const { ended } = run;
    if (ended?.kind === "OrchestrationFailed" && ended.outcome === "failed") {
      logFailedInstance(this.#o.options, loggedInstance(held), ended.failure);
    }
    if (telemetry !== null) tellTurn(telemetry, turn, events);
    this.#startTasks(held, item);
    this.#findUnknown(item);
    this.#cancelWork(held, item, events);
    for (const timer of item.timers) {
      this.#o.onTimer(timer.delayMs ?? (timer.dueAt ?? 0) - this.#o.storeNow());
    }
    if (events.length > 0 && item.keepsSuspicion !== true) this.#holding.clearSuspect(held);
    if (!this.#cache.has(held)) return;
    held.stamp = ++this.#commits;
    held.lastEvent += events.length;
    const row = item.row?.data ?? "";
    this.#cache.resize(held, held.bytes + row.length);
    this.#limits.committed(held, run, events, row);
    if (item.change.kind === "ended" || item.release) {
      this.#holding.letGo(held);
      if (item.change.kind !== "ended" && this.#queues(item)) this.#o.window.waits(held, "task");
      if (held.called === true) this.#o.onCalled(held.key);
      return;
    }
    if (held.difference !== undefined) return this.#blocker.block(held, held.difference, []);
    this.#shadowing.committed(held, run, { execution: item.execution, events: events.length });
    if (item.change.kind === "continued" && !this.#continue(held, item.change.version)) return;
    this.#goOn(held, item, commit.due);
    this.#holding.letSuspectGo(held);
    // Written by a later item of the same group, so that our own answer does not hold it.
    if (held.called === true && held.state === "idle") this.#o.onCalled(held.key);
  }

  refused(turn: FinishedTurn, item: TurnItem, code: "LEASE_LOST" | "PAUSED"): void {
    this.#o.stats.refusedTurns++;
    const { held } = turn;
    const outcomes = [...turn.outcomes, ...held.outcomes];
    if (code === "PAUSED") return this.#holding.letGoPaused(held, outcomes);
    this.#holding.drop(held);
    this.#holding.toInbox(outcomes);
    this.#holding.handBack(bornTasks(held, item)); // IN3
    // The token may still be ours: the store went back before the last event, or the finished task is gone. Without
    // the release no worker could take the instance.
    this.#holding.release(held);
    this.#o.onRefused();
    // Whoever took the lease away may have left a start behind, whose news found the instance held here.
    this.#o.onCalled(held.key);
  }

  #startTasks(held: HeldInstance, item: TurnItem): void {
    const born = bornTasks(held, item);
    this.#o.activities.unreserve(born.length);
    for (const task of born) this.#o.activities.start(task);
    if (born.length < item.tasks.length) this.#o.onQueued();
  }

  #findUnknown({ tasks, starts }: TurnItem): void {
    const { registry, onUnknown, storeNow } = this.#o;
    for (const { name, tags } of tasks) {
      if (registry.activity(name) !== undefined) continue;
      onUnknown({ kind: "task", name, tags: tags ?? [], oldestAt: storeNow() });
    }
    for (const { name, version } of starts) {
      if (registry.orchestration(name, version) !== undefined) continue;
      onUnknown({ kind: "instance", target: startTarget(name, version), oldestAt: storeNow() });
    }
  }

  /** Aborts what this turn cancelled, with the reason it gave. */
  #cancelWork(held: HeldInstance, item: TurnItem, events: readonly EventBody[]): void {
    const reasons = new Map<number, string>();
    for (const event of events) {
      if (event.kind === "ActivityCancelRequested") reasons.set(event.scheduled, event.reason);
      else if (event.kind === "StepCancelRequested") {
        this.#o.steps.abort(held, event.scheduled, event.reason);
      }
    }
    for (const sequence of item.cancelledTasks) {
      const address = { key: held.key, execution: held.execution, sequence };
      this.#o.activities.cancel(address, reasons.get(sequence) ?? "its time is over");
    }
  }

  #goOn(held: HeldInstance, item: TurnItem, due: readonly Message[]): void {
    this.#holding.setState(held, "idle");
    held.messages = inOrder(due);
    this.#cache.touch(held, this.#o.environment.monotonic());
    const stepWaits = this.#o.steps.enterDue(held);
    this.#count(held, item, stepWaits);
    this.#advance(held);
    this.#holding.trim();
  }

  /** Whether the instance waits for a slot now, for the begin window. A task of an earlier turn may still be queued. */
  #count(held: HeldInstance, item: TurnItem, stepWaits: boolean): void {
    const { window } = this.#o;
    if (this.#queues(item)) window.waits(held, "task");
    else if (stepWaits) window.waits(held, "step");
    else if (hasOpenActivities(held)) window.hasBegun(held);
    else window.remove(held);
  }

  /** Whether a task was written to the queue because no slot of this runtime was free. */
  #queues({ tasks }: TurnItem): boolean {
    const { options, registry } = this.#o;
    if (options.activityConcurrency === 0) return false;
    return tasks.some(
      ({ lease, session, name, tags }) =>
        lease === null &&
        session === null &&
        registry.activity(name) !== undefined &&
        acceptsTags(options.tags, tags),
    );
  }

  /** The next execution begins with nothing but its start message. False: its version is not registered here. */
  #continue(held: HeldInstance, version: string | null): boolean {
    this.#o.steps.abortAll(held, executionOver);
    const definition = this.#o.registry.orchestration(held.name, version);
    this.#cache.resize(held, 0);
    held.execution++;
    held.lastEvent = 0;
    held.leasedAt = 0;
    held.version = version;
    held.copiedUntil = 0;
    held.run = null;
    held.rows = [];
    held.outcomes = []; // they are the ended execution's, whose numbers mean other calls now (semantics 21)
    if (definition === undefined) {
      this.#holding.letGo(held);
      this.#holding.release(held);
      return false;
    }
    Object.assign(held, { definition });
    return true;
  }
}

function hasOpenActivities({ run }: HeldInstance): boolean {
  for (const task of run?.open.values() ?? []) if (task.kind === "activity") return true;
  return false;
}

function executionOver(): PerdureError {
  return new PerdureError("LEASE_LOST", "The execution that this step belongs to is over.");
}
