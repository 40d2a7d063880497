// Inline steps: they run in the process that holds their instance (semantics 17).
//   - A step is entered after the commit that made its causes durable (17b), and again after a crash.
//   - At most `concurrency` steps run at once. The others wait in order.
//   - The late outcome of an aborted step is dropped (17f).
//   - step-runner.1: A delayed attempt is entered when its message comes due. It is also checked on each
//     tick: the worker that consumed the message may have died, or the store's clock may have been set
//     back.
//   - A step whose outcome a rewind has put into the inbox is not entered (replay.fork.1).
//   - step-runner.2: Steps are entered one after the other, and the event loop turns in between
//     (entries.ts).

import { ChurningSet } from "../../core/collections/churning-map.ts";
import { Attempt, DescribedAttempt } from "../../core/attempts/attempt-context.ts";
import { attemptMembers } from "../../core/attempts/call-activity.ts";
import { decide } from "../../core/attempts/decide.ts";
import type { AttemptResult } from "../../core/attempts/run-attempt.ts";
import { RunningAttempt } from "../../core/attempts/running-attempt.ts";
import { NO_CONTEXT } from "../../core/context/start-context.ts";
import type { WorkFrame } from "../../core/context/async-context.ts";
import { CancelledError } from "../../core/errors/outcome-errors.ts";
import type { DeliveryBody } from "../../core/history/events.ts";
import { passAttempt } from "../../core/middleware/layers.ts";
import type { Layers, StepCall } from "../../core/middleware/middleware.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { TaskOptions } from "../../core/provider/tasks.ts";
import { repairCodeName } from "../../core/repair/repair-calls.ts";
import { isKept, keyExecution } from "../../core/replay/fork.ts";
import type { OpenStep } from "../../core/replay/open-task.ts";
import type { AttemptSpan } from "../../core/telemetry/telemetry.ts";
import { stepSpan } from "../health/observation.ts";
import type { HeldInstance } from "../instances/held-instance.ts";
import { enterAttempt, observeAttempt, type RunnerOptions } from "./enter-attempt.ts";
import { runInTransaction } from "./transaction-step.ts";

export interface StepRunnerOptions extends RunnerOptions {
  readonly storeNow: () => number;
  readonly onOutcome: (held: HeldInstance, body: DeliveryBody) => void;
  readonly provider: Provider;
  readonly onStoreError: (error: unknown) => void;
}

class RunningStep extends RunningAttempt {
  readonly held: HeldInstance;
  readonly step: OpenStep;
  readonly execution: number;
  readonly context: Attempt;

  constructor(held: HeldInstance, step: OpenStep, options: StepRunnerOptions) {
    const { id: instanceId, runId, execution, name: orchestration, priority } = held;
    const { version: orchestrationVersion } = held.definition;
    const { name, sequence, failures } = step;
    const instance = {
      instanceId,
      runId,
      execution,
      orchestration,
      orchestrationVersion,
      priority,
    };
    const { workerId: worker } = options;
    const attempt = { attempt: failures + 1, worker };
    const call = { ...instance, name, sequence, options: keyOptions(held, step) };
    super(new DescribedAttempt("step", call, attempt), options);
    this.held = held;
    this.step = step;
    this.execution = execution;
    const context = held.run?.state.context ?? NO_CONTEXT;
    this.context = new Attempt(this.description, context, options);
    this.handle = this.context;
  }
}

/** Null: the idempotency key of the step is its own. */
function keyOptions({ run, execution }: HeldInstance, step: OpenStep): TaskOptions | null {
  const owner = run === null ? execution : keyExecution(run, step.sequence, step.body);
  return owner === execution ? null : { keyExecution: owner };
}

/** Calls the step through the middleware. A transaction has none: its function must be synchronous on SQLite. */
function passStep({ step, context }: RunningStep, layers: NonNullable<Layers["step"]>): unknown {
  const { fn: userFunction, name } = step;
  const members = attemptMembers(context, context.info);
  const call: StepCall = { kind: "step", name, input: undefined, ...members };
  return passAttempt(layers, call, () => userFunction(context));
}

export class StepRunner {
  readonly #options: StepRunnerOptions;
  readonly #running = new ChurningSet<RunningStep>();
  readonly #waiting: RunningStep[] = [];
  /** Instances with an attempt that is not due yet (step-runner.1). */
  readonly #early = new ChurningSet<HeldInstance>();
  /** How many attempts were entered. */
  started = 0;
  #stopped = false;

  constructor(options: StepRunnerOptions) {
    this.#options = options;
  }

  get active(): number {
    return this.#running.size;
  }
  get frames(): readonly WorkFrame[] {
    return [...this.#running].map(({ frame }) => frame);
  }

  /**
   * Enters every open step of the instance that is due and not running. Returns true if one of them waits
   * for a slot.
   */
  enterDue(held: HeldInstance): boolean {
    this.#early.delete(held);
    const { run } = held;
    if (run === null || !run.openTasks.hasSteps) return false;
    let isAdded = false;
    for (const task of run.openTasks.values()) {
      if (task.kind !== "step" || task.isRunning || isKept(run, task.sequence)) continue;
      if (task.dueAt > this.#options.storeNow()) {
        this.#early.add(held);
        continue;
      }
      task.isRunning = true;
      this.#waiting.push(new RunningStep(held, task, this.#options));
      isAdded = true;
    }
    this.#next();
    return isAdded && this.#waiting.length > 0;
  }

  /**
   * Enters delayed attempts that have come due (step-runner.1). A busy instance is checked after its
   * commit.
   */
  tick(): void {
    for (const held of [...this.#early]) if (held.state === "idle") this.enterDue(held);
  }

  /** Whether the open steps of the instance wait for the messages that make their next attempts due (step-runner.1). */
  onlyWaits({ run }: HeldInstance): boolean {
    if (run === null) return false;
    const now = this.#options.storeNow();
    for (const task of run.openTasks.values()) {
      if (task.kind === "step" && (task.isRunning || task.dueAt <= now)) return false;
    }
    return run.openTasks.hasSteps;
  }

  /**
   * Running steps may end. No further step is entered; the next holder of the lease enters the open ones.
   */
  stop(): void {
    this.#stopped = true;
  }

  #next(): void {
    while (!this.#stopped && this.#running.size < this.#options.concurrency) {
      const running = this.#waiting.shift();
      if (running === undefined) return;
      if (running.isOver) continue;
      this.#running.add(running);
      this.#options.entries.add(running.held.name, () => this.#enter(running));
    }
  }

  /** Enters the step (step-runner.2). By now the step may be dropped, or the runtime stopped. */
  #enter(running: RunningStep): void {
    if (this.#stopped) running.end("cancelled");
    if (running.isOver) return this.#ended(running, null);
    const { held, step, context } = running;
    this.started++;
    running.begin(step.body, (result) => this.#ended(running, result));
    if (step.inTransaction !== undefined) {
      void this.#enterTransaction(running, step.inTransaction);
      return;
    }
    const { name, sequence } = step;
    const { attempt } = context;
    const span = (): AttemptSpan => stepSpan(held, held.run, { name, sequence, attempt });
    observeAttempt(running, span, this.#options);
    const layers = this.#layersOf(held);
    const { fn: userFunction } = step; // `step.fn(…)` would appear as "Object.fn" in stack traces
    enterAttempt(
      running,
      () => (layers === null ? userFunction(context) : passStep(running, layers)),
      this.#options,
      (result) => this.#ended(running, running.end(result.kind) ? result : null),
    );
  }

  /** The middleware around a step. The step of a repair is not the application's. */
  #layersOf({ name }: HeldInstance): Layers["step"] {
    const { layers, workerId } = this.#options;
    return layers.step === null || name === repairCodeName(workerId) ? null : layers.step;
  }

  async #enterTransaction(
    running: RunningStep,
    fn: (transaction: unknown) => unknown,
  ): Promise<void> {
    const { held, step, execution, frame } = running;
    const { key, token } = held;
    const { sequence } = step;
    const attempts = step.failures + 1;
    const result = await runInTransaction({
      ...this.#options,
      frame,
      fn,
      outcome: (output) => {
        const body = { kind: "StepCompleted", scheduled: sequence, output, attempts };
        const outcome = JSON.stringify(body);
        return { kind: "stepOutcome", key, token, execution, sequence, outcome };
      },
      isOver: () => running.isOver,
    });
    const isFirst = running.end(result.kind);
    // A committed outcome arrives as a message.
    this.#ended(running, isFirst && result.kind === "failed" ? result : null);
  }

  /** Frees the slot. Null: there is no outcome to deliver. */
  #ended(running: RunningStep, result: AttemptResult | null): void {
    this.#running.delete(running);
    if (result !== null) this.#options.onOutcome(running.held, this.#outcome(running, result));
    this.#next();
  }

  #outcome({ step, description }: RunningStep, result: AttemptResult): DeliveryBody {
    const scheduled = step.sequence;
    const attempts = step.failures + 1;
    const policy = step.body.retry;
    const decision = decide(result, { description, policy, failures: attempts }, this.#options);
    switch (decision.kind) {
      case "completed":
        return { kind: "StepCompleted", scheduled, output: decision.output, attempts };
      case "failed":
        return { kind: "StepFailed", scheduled, failure: decision.failure, attempts };
      case "retry": {
        const { failure, delayMs } = decision;
        const due = this.#options.storeNow() + delayMs;
        return { kind: "StepAttemptFailed", scheduled, attempt: attempts, failure, due };
      }
    }
  }

  /** The orchestration cancelled the step. */
  abort(held: HeldInstance, sequence: number, reason: string): void {
    for (const running of this.#all(held)) {
      if (running.step.sequence === sequence) this.#drop(running, new CancelledError(reason));
    }
    this.#next(); // the code of a dropped step may never return
  }

  /** The instance is no longer held here, or its execution ended. */
  abortAll(held: HeldInstance, reason: () => Error): void {
    this.#early.delete(held);
    if (this.#running.size === 0 && this.#waiting.length === 0) return;
    for (const running of this.#all(held)) this.#drop(running, reason());
    this.#next();
  }

  #all(held: HeldInstance): readonly RunningStep[] {
    return [...this.#running, ...this.#waiting].filter((running) => running.held === held);
  }

  #drop(running: RunningStep, reason: Error): void {
    this.#running.delete(running);
    running.abort(reason);
  }
}
