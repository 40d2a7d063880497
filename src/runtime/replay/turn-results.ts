// Turn results: what this runtime does when the commit of a turn returns.
//   - turn-results.1: Effects of a turn leave this runtime only after its commit has returned (I13).
//     `committed` starts tasks and steps, writes log lines and cancels activities.
//   - turn-results.2: A refused commit drops the live run. Outcomes whose task this runtime still holds
//     go to the inbox (semantics 4a).
//   - turn-results.3: A refused turn may have been written by an earlier try whose reply was lost, and
//     another runtime may have continued from it. So its pre-leased tasks are handed back.

import { PerdureError } from "../../core/errors/errors.ts";
import type { EventBody } from "../../core/history/events.ts";
import { LazyMap } from "../../core/collections/lazy-map.ts";
import { inInboxOrder } from "../../core/replay/inbox-delivery.ts";
import { instanceFields } from "../../core/telemetry/log-fields.ts";
import { askRefusedFailure } from "../../core/errors/built-in-failures.ts";
import { sendName } from "../../core/replay/delivery.ts";
import type { RefusedDispatch } from "../../core/provider/asks.ts";
import type { NewInstance, TurnItem } from "../../core/provider/commit.ts";
import type { Message } from "../../core/provider/messages.ts";
import type { BufferedLog } from "../../core/replay/run.ts";
import { acceptsTags } from "../../core/ids/tags.ts";
import { startTarget } from "../../core/ids/targets.ts";
import type { RuntimeContext } from "../context.ts";
import { preLeasedTasks } from "../attempts/pre-leased-tasks.ts";
import { logFailedInstance } from "../../core/telemetry/failure-lines.ts";
import { isBusy, loggedInstance, type HeldInstance } from "../instances/held-instance.ts";
import { reportTurn } from "../health/observation.ts";
import type { FinishedTurn } from "./turn-job.ts";

export class TurnResults {
  readonly #runtime: RuntimeContext;
  #commits = 0;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /**
   * The number of commits so far. A reader compares it before and after a read to recognise a stale read.
   */
  get commits(): number {
    return this.#commits;
  }

  committed(commit: {
    turn: FinishedTurn;
    item: TurnItem;
    events: readonly EventBody[];
    logs: readonly BufferedLog[];
    due: readonly Message[];
    undelivered: readonly RefusedDispatch[] | undefined;
  }): void {
    const { turn, item, events } = commit;
    const { held, run } = turn;
    const { stats, options, heldInstances, intake, window, retention } = this.#runtime;
    stats.countTurn(events);
    if (item.change.kind === "continued") {
      retention.continued(held.id, held.definition.options.keepExecutions);
    }
    const clears = events.length > 0 && item.keepsSuspicion !== true;
    this.#runtime.pastBlocks.committed(held, clears);
    const { telemetry, log } = options;
    for (const line of commit.logs) {
      log(line.level, line.message, { ...line.fields, ...instanceFields(loggedInstance(held)) });
    }
    if (commit.undelivered !== undefined) this.#logUndelivered(turn, events, commit.undelivered);
    const { ended } = run;
    if (ended?.kind === "OrchestrationFailed" && ended.outcome === "failed") {
      logFailedInstance(options, loggedInstance(held), ended.failure);
    }
    if (telemetry !== null) reportTurn(telemetry, turn, item, events);
    this.#runtime.firstTurns.hasRun(held.definition);
    this.#startTasks(held, item);
    this.#findUnknown(item);
    this.#cancelWork(held, item, events);
    for (const timer of item.timers) {
      intake.wakeInstancesIn(timer.delayMs ?? (timer.dueAt ?? 0) - this.#runtime.storeNow());
    }
    if (clears) heldInstances.clearSuspect(held);
    if (held.state === "released") return;
    held.commitCount = ++this.#commits;
    held.lastCommit = item.commitId;
    held.lastEvent += events.length;
    const row = item.row?.data ?? "";
    heldInstances.cache.resize(held, held.bytes + row.length);
    this.#runtime.limitWatch.committed(held, run, events, row);
    if (item.change.kind === "ended" || item.release) {
      heldInstances.release(held, "committed");
      if (item.change.kind !== "ended" && this.#hasQueuedTasks(item)) window.waits(held, "task");
      if (held.hasUnseenMessages) intake.onUnseenMessages(held.key);
      return;
    }
    const { shadowing, blocker } = this.#runtime;
    if (held.shadowMismatch !== null) return blocker.block(held, held.shadowMismatch);
    shadowing.committed(held, run, { execution: item.execution, events: events.length });
    if (item.change.kind === "continued" && !this.#continue(held, item.change.version)) return;
    this.#becomeIdle(held, item, commit.due);
    heldInstances.evictSuspect(held);
    // A later item of the same group wrote these messages, so the reply to this commit does not contain
    // them.
    if (held.hasUnseenMessages && !isBusy(held)) intake.onUnseenMessages(held.key);
  }

  refused(turn: FinishedTurn, item: TurnItem, code: "LEASE_LOST" | "PAUSED"): void {
    const { stats, heldInstances, leaseCheck, intake } = this.#runtime;
    stats.refusedTurns++;
    const { held, outcomes } = turn;
    if (code === "PAUSED") return heldInstances.release(held, "paused", { outcomes });
    const tasks = preLeasedTasks(held, item); // turn-results.3
    heldInstances.release(held, "refused", { outcomes, tasks });
    leaseCheck.alert();
    // The process that took the lease away may have written a start. Its notification came while the
    // instance was held here.
    intake.onUnseenMessages(held.key);
  }

  /** Logs failures that the code does not get: of quiet messages, and of the last messages of an execution. */
  #logUndelivered(
    { held, run }: FinishedTurn,
    events: readonly EventBody[],
    undelivered: readonly RefusedDispatch[],
  ): void {
    const { log } = this.#runtime.options;
    for (const { sequence, code } of undelivered) {
      const body = events[sequence - held.lastEvent - 1];
      if (body?.kind !== "EventRaised" && body?.kind !== "DetachedStarted") continue;
      if (run.ended === null && body.quiet !== true) continue;
      const { message } = askRefusedFailure(code, body.id);
      const fields = { code, ...instanceFields(loggedInstance(held)) };
      log("warn", `${sendName(body)} failed: ${message}`, fields);
    }
  }

  #startTasks(held: HeldInstance, item: TurnItem): void {
    const { activities, intake, sessions } = this.#runtime;
    const preLeased = preLeasedTasks(held, item);
    activities.unreserve(preLeased.length);
    for (const task of preLeased) {
      activities.start(task);
      if (task.session !== null) sessions.leave(task.session); // it was counted when it was reserved
    }
    if (preLeased.length < item.tasks.length) intake.queued();
  }

  #findUnknown(item: TurnItem): void {
    const { registry, unclaimed, storeNow } = this.#runtime;
    for (const { name, tags } of item.tasks) {
      if (registry.activity(name) !== undefined) continue;
      unclaimed.requested({ kind: "task", name, tags: tags ?? [], oldestAt: storeNow() });
    }
    for (const { name, version } of startsOf(item)) {
      if (registry.orchestration(name, version) !== undefined) continue;
      const target = startTarget(name, version);
      unclaimed.requested({ kind: "instance", target, oldestAt: storeNow() });
    }
  }

  /** Aborts the activities and steps that this turn cancelled, with the reason it gave. */
  #cancelWork(held: HeldInstance, item: TurnItem, events: readonly EventBody[]): void {
    const reasons = new LazyMap<number, string>();
    for (const event of events) {
      if (event.kind === "ActivityCancelRequested") reasons.set(event.scheduled, event.reason);
      else if (event.kind === "StepCancelRequested") {
        this.#runtime.steps.abort(held, event.scheduled, event.reason);
      }
    }
    for (const sequence of item.cancelledTasks) {
      const address = { key: held.key, execution: held.execution, sequence };
      this.#runtime.activities.cancel(address, reasons.get(sequence) ?? "the call timed out");
    }
  }

  #becomeIdle(held: HeldInstance, item: TurnItem, due: readonly Message[]): void {
    const { heldInstances, steps, instances } = this.#runtime;
    heldInstances.transition(held, held.run === null ? "continue" : "commit");
    held.messages = inInboxOrder(due);
    heldInstances.cache.touch(held, this.#runtime.monotonic());
    const stepWaits = steps.enterDue(held);
    this.#updateWindow(held, item, stepWaits);
    instances.advance(held);
    heldInstances.trim();
  }

  /**
   * Updates the begin window: whether the instance now waits for a slot. A task of an earlier turn may
   * still be queued.
   */
  #updateWindow(held: HeldInstance, item: TurnItem, stepWaits: boolean): void {
    const { window } = this.#runtime;
    if (this.#hasQueuedTasks(item)) window.waits(held, "task");
    else if (stepWaits) window.waits(held, "step");
    else if (hasOpenActivities(held)) window.hasBegun(held);
    else window.remove(held);
  }

  /** Whether a task was written to the queue because no slot of this runtime was free. */
  #hasQueuedTasks({ tasks }: TurnItem): boolean {
    const { options, registry } = this.#runtime;
    if (options.activityConcurrency === 0) return false;
    return tasks.some(
      ({ lease, session, name, tags }) =>
        lease === null &&
        session === null &&
        registry.activity(name) !== undefined &&
        acceptsTags(options.tags, tags),
    );
  }

  /**
   * Begins the next execution, which has only its start message. Returns false if its version is not
   * registered here.
   */
  #continue(held: HeldInstance, version: string | null): boolean {
    const { steps, registry, heldInstances } = this.#runtime;
    steps.abortAll(held, executionOver);
    const definition = registry.orchestration(held.name, version);
    heldInstances.cache.resize(held, 0);
    held.execution++;
    held.lastEvent = 0;
    held.leasedAt = 0;
    held.version = version;
    held.copiedUntil = 0;
    held.run = null;
    held.rows = [];
    held.outcomes = []; // they belong to the ended execution; its sequence numbers now mean other calls (semantics 21)
    if (definition === undefined) {
      heldInstances.release(held, "unregistered");
      return false;
    }
    held.definition = definition;
    return true;
  }
}

/** The starts of a turn: of children, of detached instances, and of instances that it asks. */
function startsOf({ starts, dispatched }: TurnItem): readonly NewInstance[] {
  if (dispatched === undefined) return starts;
  const others = dispatched.flatMap(({ item }) => {
    if (item.kind === "start") return [item];
    return item.kind === "ask" && item.start !== null ? [item.start] : [];
  });
  return [...starts, ...others];
}

function hasOpenActivities({ run }: HeldInstance): boolean {
  for (const task of run?.openTasks.values() ?? []) if (task.kind === "activity") return true;
  return false;
}

function executionOver(): PerdureError {
  return new PerdureError("LEASE_LOST", "The execution that this step belongs to is over.");
}
