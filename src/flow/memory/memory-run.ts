// One instance of `runFlow`: drives the engine's Run in memory, and carries out its effects without a store.
//   - Deliveries, drains and effects come from the same engine code as in a runtime, so a flow behaves the
//        same.
//   - Each delivery has a separate macrotask. The macrotask that ends the drain follows directly, so that
//        no unrelated code runs during a drain (pump.1).

import { callActivity } from "../../core/attempts/call-activity.ts";
import { invalidArgument } from "../../core/checks.ts";
import { drain } from "../../core/context/async-context.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import type { TimerHandle } from "../../core/time/environment.ts";
import { scheduleToCloseFailure } from "../../core/errors/built-in-failures.ts";
import { childOutcome, nextStart } from "../../core/replay/execution-end.ts";
import type {
  ActivityScheduled,
  DeliveryBody,
  OrchestrationStarted,
  StepScheduled,
  TerminalBody,
} from "../../core/history/events.ts";
import { orchestrationMain } from "../../core/replay/orchestration-main.ts";
import type { NewInstance } from "../../core/provider/commit.ts";
import type { NewTimer } from "../../core/provider/messages.ts";
import { deliverReceived } from "../../core/replay/received.ts";
import { Run } from "../../core/replay/run.ts";
import type { TurnEffects } from "../../core/replay/effects.ts";
import type { MemoryWorld } from "./memory-world.ts";
import { MemoryWork, type WorkOptions } from "./memory-work.ts";

export class MemoryRun {
  readonly id: string;
  readonly #world: MemoryWorld;
  readonly #definition: Orchestration<never, unknown>;
  readonly #onEnd: (ended: TerminalBody) => void;
  readonly #work = new Map<number, MemoryWork>();
  readonly #timers = new Map<string, TimerHandle>();
  readonly #children = new Map<string, MemoryRun>();
  #queue: DeliveryBody[] = [];
  #run: Run;
  #isBusy = false;
  /** The last drain has ended with late rejections: they need another drain. */
  #needsDrain = false;

  constructor(options: {
    world: MemoryWorld;
    id: string;
    definition: Orchestration<never, unknown>;
    started: OrchestrationStarted;
    onEnd: (ended: TerminalBody) => void;
  }) {
    const { world, id, definition, started } = options;
    this.id = id;
    this.#world = world;
    this.#definition = definition;
    this.#onEnd = options.onEnd;
    this.#run = this.#newRun(1);
    this.enqueue({ ...started, orchestrationVersion: definition.version });
  }

  /** Queues a delivery. */
  enqueue(body: DeliveryBody): void {
    this.#queue.push(body);
    this.#next();
  }

  cancel(reason: string): void {
    if (!this.#run.isOver) this.enqueue({ kind: "OrchestrationCancelRequested", reason });
  }

  #newRun(execution: number): Run {
    return new Run({
      instanceId: this.id,
      execution,
      version: this.#definition.version,
      priority: 3,
      codec: this.#world.codec,
      inputSchema: this.#definition.options.input,
      main: orchestrationMain(this.#definition),
      history: [],
    });
  }

  /** Schedules the next delivery and the end of its drain. */
  #next(): void {
    if (this.#isBusy || (this.#queue.length === 0 && !this.#needsDrain)) return;
    this.#isBusy = true;
    const { environment } = this.#world;
    environment.immediate(() => this.#deliver());
    environment.immediate(() => this.#endDrain());
  }

  #deliver(): void {
    const run = this.#run;
    drain.run = run;
    try {
      if (this.#needsDrain) return run.lateRejection();
      const body = this.#queue.shift();
      if (body === undefined || !isWanted(run, body)) return;
      deliverReceived(run, body, Math.max(this.#world.environment.now(), run.eventTime));
    } catch (error) {
      this.#world.fail(error);
    }
  }

  #endDrain(): void {
    drain.run = null;
    this.#isBusy = false;
    const run = this.#run;
    if (this.#world.isOver) return;
    this.#needsDrain = run.deliveredSequence > 0 && run.endDrain() === "again";
    if (this.#needsDrain) return this.#next();
    if (run.blocked !== null) return this.#world.blocked(run.blocked);
    const { effects, logs } = run.takeTurn();
    for (const { level, message, fields } of logs) {
      this.#world.log(level, message, { instance: this.id, ...fields });
    }
    this.#carryOut(effects);
    if (run.ended !== null) return this.#ended(run.ended);
    this.#enterSteps();
    this.#next();
    if (!this.#isBusy) this.#checkStuck();
  }

  #carryOut(effects: TurnEffects): void {
    for (const { sequence, body } of effects.activities.values()) this.#activity(sequence, body);
    for (const sequence of effects.cancelledTasks) this.#cancelWork(sequence, "cancelled");
    for (const timer of effects.timers.values()) this.#timer(timer);
    for (const { kind, sequence } of effects.cancelledTimers) {
      this.#timers.get(`${kind}:${sequence}`)?.cancel();
      this.#timers.delete(`${kind}:${sequence}`);
    }
    for (const start of effects.starts.values()) this.#start(start);
    for (const { to, kind, data } of effects.sends) {
      if (kind !== "cancel") continue;
      const { reason } = JSON.parse(data) as { reason: string }; // cancelChild wrote it.
      this.#children.get(to.id)?.cancel(reason);
    }
  }

  #activity(sequence: number, body: ActivityScheduled): void {
    const definition = this.#world.activity(body.name);
    if (definition === null) return;
    const { codec } = this.#world;
    this.#enter("activity", sequence, body, (context) =>
      callActivity(definition, codec.decode(body.input), context, null),
    );
  }

  /** Runs the inline steps of orchestrations that a flow calls as children. MemoryWork retries them. */
  #enterSteps(): void {
    for (const step of this.#run.openTasks.values()) {
      if (step.kind !== "step" || step.isRunning) continue;
      step.isRunning = true;
      const userFunction = step.inTransaction === undefined ? step.fn : noTransaction;
      this.#enter("step", step.sequence, step.body, userFunction);
    }
    for (const sequence of this.#work.keys()) {
      if (!this.#run.openTasks.has(sequence)) this.#cancelWork(sequence, "cancelled");
    }
  }

  #enter(
    kind: WorkOptions["kind"],
    sequence: number,
    body: ActivityScheduled | StepScheduled,
    fn: WorkOptions["fn"],
  ): void {
    const { runId, execution, priority } = this.#run;
    const { context } = this.#run.state;
    const { name: orchestration, version: orchestrationVersion } = this.#definition;
    const of = { instanceId: this.id, runId, execution, orchestration, orchestrationVersion };
    const call = { ...of, sequence, priority, ...body, options: body };
    const event = kind === "activity" ? "Activity" : "Step";
    const onOutcome: WorkOptions["onOutcome"] = (outcome, attempts) => {
      this.#work.delete(sequence);
      const common = { scheduled: sequence, attempts };
      this.enqueue(
        outcome.kind === "completed"
          ? { kind: `${event}Completed`, ...common, output: outcome.output }
          : { kind: `${event}Failed`, ...common, failure: outcome.failure },
      );
    };
    const work = new MemoryWork({ world: this.#world, kind, call, context, fn, onOutcome });
    this.#work.set(sequence, work);
  }

  #timer(timer: NewTimer): void {
    const { environment, wheel } = this.#world;
    const delayMs = timer.delayMs ?? (timer.dueAt ?? 0) - environment.now();
    const { kind, sequence } = timer;
    const handle = wheel.schedule(environment.monotonic() + Math.max(delayMs, 0), () => {
      this.#timers.delete(`${kind}:${sequence}`);
      if (kind === "timer") this.enqueue({ kind: "TimerFired", scheduled: sequence });
      if (kind === "deadline") this.#deadlineAlarm(timer.dueAt ?? 0);
    });
    this.#timers.set(`${kind}:${sequence}`, handle);
  }

  #deadlineAlarm(dueAt: number): void {
    const overdue = this.#run.deadlineAlarm.fired(this.#run, dueAt);
    if (overdue !== null) this.#overdue(overdue.sequence);
    else if (!this.#isBusy) this.#carryOut(this.#run.takeTurn().effects);
  }

  #overdue(sequence: number): void {
    this.#cancelWork(sequence, "timed out (scheduleToClose)");
    const failure = scheduleToCloseFailure();
    this.enqueue({ kind: "ActivityFailed", scheduled: sequence, attempts: 0, failure });
  }

  #start(start: NewInstance): void {
    const { id, parent } = start;
    const child = this.#world.start(start, (ended) => {
      this.#children.delete(id);
      const outcome = parent === null ? null : childOutcome(ended, parent);
      if (outcome !== null && parent?.execution === this.#run.execution) this.enqueue(outcome);
    });
    if (child !== null && parent !== null) this.#children.set(id, child);
  }

  #cancelWork(sequence: number, reason: string): void {
    this.#work.get(sequence)?.cancel(reason);
    this.#work.delete(sequence);
  }

  #ended(ended: TerminalBody): void {
    for (const sequence of [...this.#work.keys()])
      this.#cancelWork(sequence, "the orchestration has ended");
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    if (ended.kind !== "OrchestrationContinuedAsNew") return this.#onEnd(ended);
    const before = this.#run;
    const unread: DeliveryBody[] = before.mailbox
      .unread()
      .map(({ name, data }) => ({ kind: "EventReceived", name, data }));
    const rest = this.#queue.filter((body) => !("scheduled" in body));
    this.#run = this.#newRun(before.execution + 1);
    this.#queue = [nextStart(before, ended), ...unread, ...rest];
    this.#next();
  }

  /** Fails the run if nothing is in flight: it then waits for signals that never come. */
  #checkStuck(): void {
    if (this.#work.size > 0 || this.#timers.size > 0 || this.#children.size > 0) return;
    const names = [...this.#run.openTasks.values()].flatMap((task) =>
      task.kind === "event" ? [task.name] : [],
    );
    this.#world.stuck(names);
  }
}

function noTransaction(): never {
  throw invalidArgument("runFlow has no store, so ctx.tx is not available.");
}

/** False for an outcome of a call that is no longer open: it has no effect (I6). */
function isWanted(run: Run, body: DeliveryBody): boolean {
  if (body.kind === "OrchestrationCancelRequested") return run.cancelReason === null;
  return !("scheduled" in body) || run.openTasks.has(body.scheduled);
}
