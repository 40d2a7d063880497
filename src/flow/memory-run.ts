// One instance without a store: a run of the engine's own, fed and obeyed in memory.
//   MR1. Deliveries, drains and commands are the engine's: what a flow does here is what it does anywhere.
//   MR2. Each delivery has a macrotask of its own, and the one that ends its drain follows it directly, so that nobody
//        else's code meets an open drain (PU2).

import type { ActivityInfo } from "../core/activity-context.ts";
import { drain } from "../core/async-context.ts";
import type { Orchestration } from "../core/definitions.ts";
import type { TimerHandle } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import { childOutcome, nextStart } from "../core/execution-end.ts";
import type { DeliveryBody, OrchestrationStarted, TerminalBody } from "../core/history-events.ts";
import { nodeInfo } from "../core/node-info.ts";
import { orchestrationMain } from "../core/orchestration-main.ts";
import type { NewInstance } from "../core/provider/commit.ts";
import type { NewTimer } from "../core/provider/messages.ts";
import { Run } from "../core/run.ts";
import type { TurnEffects } from "../core/turn-effects.ts";
import type { MemoryWorld } from "./memory-world.ts";
import type { MemoryWork } from "./memory-work.ts";

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
  #again = false;

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
    this.give({ ...started, orchestrationVersion: definition.version });
  }

  /** Delivers something, in its turn. */
  give(body: DeliveryBody): void {
    this.#queue.push(body);
    this.#go();
  }

  cancel(reason: string): void {
    if (!this.#run.isOver) this.give({ kind: "OrchestrationCancelRequested", reason });
  }

  #newRun(execution: number): Run {
    return new Run({
      instanceId: this.id,
      execution,
      version: this.#definition.version,
      priority: 3,
      codec: this.#world.codec,
      main: orchestrationMain(this.#definition),
      history: [],
    });
  }

  #go(): void {
    if (this.#isBusy || (this.#queue.length === 0 && !this.#again)) return;
    this.#isBusy = true;
    const { environment } = this.#world;
    environment.immediate(() => this.#deliver());
    environment.immediate(() => this.#close());
  }

  #deliver(): void {
    const run = this.#run;
    drain.run = run;
    try {
      if (this.#again) return run.lateRejection();
      const body = this.#queue.shift();
      if (body === undefined || !isWanted(run, body)) return;
      run.deliver(body, Math.max(this.#world.environment.now(), run.at));
    } catch (error) {
      this.#world.fail(error);
    }
  }

  #close(): void {
    drain.run = null;
    this.#isBusy = false;
    const run = this.#run;
    if (this.#world.isOver) return;
    this.#again = run.delivered > 0 && run.endDrain() === "again";
    if (this.#again) return this.#go();
    if (run.blocked !== null) return this.#world.blocked(run.blocked);
    const { effects, logs } = run.takeTurn();
    for (const { level, message, fields } of logs) {
      this.#world.log(level, message, { instance: this.id, ...fields });
    }
    this.#obey(effects);
    if (run.ended !== null) return this.#ended(run.ended);
    this.#enterSteps();
    this.#go();
    if (!this.#isBusy) this.#checkAlive();
  }

  #obey(effects: TurnEffects): void {
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
      const { reason } = JSON.parse(data) as { reason: string }; // written by cancelChild
      this.#children.get(to.id)?.cancel(reason);
    }
  }

  #activity(sequence: number, body: Parameters<MemoryWorld["activity"]>[0]["body"]): void {
    const { name, tags, session, priority } = body;
    const info: ActivityInfo = {
      ...this.#infoOf(sequence, name),
      priority: priority ?? this.#run.priority,
      tags: tags ?? [],
      session,
      ...nodeInfo(body),
    };
    const work = this.#world.activity({
      body,
      info,
      key: this.#keyOf(sequence),
      onOutcome: (outcome) => {
        this.#work.delete(sequence);
        const { attempts } = outcome;
        this.give(
          outcome.kind === "completed"
            ? { kind: "ActivityCompleted", scheduled: sequence, output: outcome.output, attempts }
            : { kind: "ActivityFailed", scheduled: sequence, failure: outcome.failure, attempts },
        );
      },
    });
    if (work !== null) this.#work.set(sequence, work);
  }

  /** Inline steps of code that a flow calls as a child. Their retries are the attempts' own here. */
  #enterSteps(): void {
    for (const step of this.#run.open.values()) {
      if (step.kind !== "step" || step.entered) continue;
      step.entered = true;
      const { sequence, name, body } = step;
      const fn = step.inTransaction === undefined ? step.fn : noTransaction;
      const work = this.#world.step({
        body,
        fn,
        info: this.#infoOf(sequence, name),
        key: this.#keyOf(sequence),
        onOutcome: (outcome) => {
          this.#work.delete(sequence);
          const { attempts } = outcome;
          this.give(
            outcome.kind === "completed"
              ? { kind: "StepCompleted", scheduled: sequence, output: outcome.output, attempts }
              : { kind: "StepFailed", scheduled: sequence, failure: outcome.failure, attempts },
          );
        },
      });
      this.#work.set(sequence, work);
    }
    for (const sequence of this.#work.keys()) {
      if (!this.#run.open.has(sequence)) this.#cancelWork(sequence, "cancelled");
    }
  }

  #infoOf(sequence: number, activity: string): ActivityInfo {
    return {
      instanceId: this.id,
      executionId: this.#run.execution,
      orchestration: this.#definition.name,
      orchestrationVersion: this.#definition.version,
      activity,
      sequence,
      worker: "memory",
      priority: this.#run.priority,
      tags: [],
      session: undefined,
    };
  }

  #keyOf(sequence: number): string {
    return `${this.#run.runId}:${this.#run.execution}:${sequence}`;
  }

  #timer(timer: NewTimer): void {
    const { environment, wheel } = this.#world;
    const delayMs = timer.delayMs ?? (timer.dueAt ?? 0) - environment.now();
    const { kind, sequence } = timer;
    const handle = wheel.schedule(environment.monotonic() + Math.max(delayMs, 0), () => {
      this.#timers.delete(`${kind}:${sequence}`);
      if (kind === "timer") this.give({ kind: "TimerFired", scheduled: sequence });
      if (kind === "deadline") this.#overdue(sequence);
    });
    this.#timers.set(`${kind}:${sequence}`, handle);
  }

  #overdue(sequence: number): void {
    this.#cancelWork(sequence, "its time is over");
    this.give({
      kind: "ActivityFailed",
      scheduled: sequence,
      attempts: 0,
      failure: {
        category: "application",
        kind: "timeout",
        name: "TimeoutError",
        message: "timeout: activity timed out (scheduleToClose)",
        retryable: false,
      },
    });
  }

  #start(start: NewInstance): void {
    const { id, parent } = start;
    const child = this.#world.start(start, (ended) => {
      this.#children.delete(id);
      const outcome = parent === null ? null : childOutcome(ended, parent);
      if (outcome !== null && parent?.execution === this.#run.execution) this.give(outcome);
    });
    if (child !== null && parent !== null) this.#children.set(id, child);
  }

  #cancelWork(sequence: number, reason: string): void {
    this.#work.get(sequence)?.cancel(reason);
    this.#work.delete(sequence);
  }

  #ended(ended: TerminalBody): void {
    for (const sequence of [...this.#work.keys()]) this.#cancelWork(sequence, "it has ended");
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
    this.#go();
  }

  /** Nothing is under way: it waits for signals that nobody can send. */
  #checkAlive(): void {
    if (this.#work.size > 0 || this.#timers.size > 0 || this.#children.size > 0) return;
    const names = [...this.#run.open.values()].flatMap((task) =>
      task.kind === "event" ? [task.name] : [],
    );
    this.#world.stuck(names);
  }
}

function noTransaction(): never {
  throw new PerdureError("INVALID_ARGUMENT", "runFlow has no store, and so no ctx.tx.");
}

/** What is told of something that is no longer open changes nothing (I6). */
function isWanted(run: Run, body: DeliveryBody): boolean {
  if (body.kind === "OrchestrationCancelRequested") return run.cancelReason === null;
  return !("scheduled" in body) || run.open.has(body.scheduled);
}
