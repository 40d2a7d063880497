// Inline steps under way: they run in the process that holds their instance (semantics 17).
//   SR1. A step is entered after the commit that made its causes durable (17b), and again after a crash.
//   SR2. At most `concurrency` run at once; the others wait in order.
//   SR3. An aborted step's late outcome is dropped (17f).
//   SR4. An attempt whose time has not come is entered when its message says so. It is looked at now and then as
//        well: whoever took that message may have died, and the store's clock may have gone back since.
//   SR5. Steps are entered one after the other, and the loop turns in between (entries.ts).

import type { WorkFrame } from "../core/async-context.ts";
import type { Codec } from "../core/codec.ts";
import type { TimerHandle } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import type { DeliveryBody } from "../core/history-events.ts";
import type { LogSink } from "../core/log.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { OpenStep } from "../core/open-task.ts";
import { CancelledError } from "../core/outcome-errors.ts";
import { normalizeRetry, retryDelay, shouldRetry } from "../core/retry-policy.ts";
import type { Telemetry } from "../core/telemetry.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";
import { runInTransaction } from "./transaction-step.ts";
import { Attempt, runAttempt, timeoutFailure, type AttemptResult } from "./activity-run.ts";
import type { Entries } from "./entries.ts";
import { logFailedAttempt, whyNoRetry } from "../core/failure-lines.ts";
import type { HeldInstance } from "./held-instance.ts";
import { AttemptWatch, stepSpan } from "./observation.ts";
import type { LoopWatch } from "./loop-watch.ts";

export interface StepRunnerOptions {
  readonly workerId: string;
  readonly concurrency: number;
  readonly codec: Codec;
  readonly log: LogSink;
  readonly wheel: TimerWheel;
  readonly monotonic: () => number;
  readonly storeNow: () => number;
  readonly random: () => number;
  /** What is about to hold the loop; empty: nothing of ours. */
  readonly entering: (label: string) => void;
  readonly loop: Pick<LoopWatch, "now" | "reached" | "ended">;
  readonly entries: Pick<Entries, "add">;
  readonly onOutcome: (held: HeldInstance, body: DeliveryBody) => void;
  readonly telemetry: Telemetry | null;
  readonly provider: Provider;
  readonly trouble: (error: unknown) => void;
}

interface RunningStep {
  readonly held: HeldInstance;
  readonly step: OpenStep;
  readonly execution: number;
  readonly attempt: Attempt;
  timer: TimerHandle | null;
  over: boolean;
}

export class StepRunner {
  readonly #options: StepRunnerOptions;
  readonly #running = new Set<RunningStep>();
  readonly #waiting: RunningStep[] = [];
  /** Instances with an attempt whose time has not come (SR4). */
  readonly #early = new Set<HeldInstance>();
  #stopped = false;

  constructor(options: StepRunnerOptions) {
    this.#options = options;
  }

  get active(): number {
    return this.#running.size;
  }
  get frames(): readonly WorkFrame[] {
    return [...this.#running].map(({ held, step }) => ({
      kind: "step",
      name: step.name,
      instanceId: held.id,
    }));
  }

  /** Enters every open step of the instance that is due and not running. True: a step of it waits for a slot. */
  enterDue(held: HeldInstance): boolean {
    this.#early.delete(held);
    let isAdded = false;
    for (const task of held.run?.open.values() ?? []) {
      if (task.kind !== "step" || task.entered) continue;
      if (task.dueAt > this.#options.storeNow()) {
        this.#early.add(held);
        continue;
      }
      task.entered = true;
      this.#waiting.push(this.#prepare(held, task));
      isAdded = true;
    }
    this.#next();
    return isAdded && this.#waiting.length > 0;
  }

  /** SR4. A busy instance is looked at after its commit. */
  tick(): void {
    for (const held of [...this.#early]) if (held.state === "idle") this.enterDue(held);
  }

  #prepare(held: HeldInstance, step: OpenStep): RunningStep {
    const described = {
      attempt: step.failures + 1,
      key: `${held.runId}:${held.execution}:${step.sequence}`,
      info: {
        instanceId: held.id,
        executionId: held.execution,
        orchestration: held.name,
        orchestrationVersion: held.definition.version,
        activity: step.name,
        sequence: step.sequence,
        worker: this.#options.workerId,
        priority: held.priority,
        tags: [],
        session: undefined,
      },
    };
    const attempt = new Attempt(described, this.#options.log, "step");
    return { held, step, execution: held.execution, attempt, timer: null, over: false };
  }

  /** What runs may end; nothing is entered any more: whoever takes over enters what is open. */
  stop(): void {
    this.#stopped = true;
  }

  #next(): void {
    while (!this.#stopped && this.#running.size < this.#options.concurrency) {
      const running = this.#waiting.shift();
      if (running === undefined) return;
      if (running.over) continue;
      this.#running.add(running);
      this.#options.entries.add(() => this.#enter(running));
    }
  }

  /** SR5. Meanwhile the step may have been dropped, or the runtime stopped. */
  #enter(running: RunningStep): void {
    if (running.over) return this.#next();
    if (this.#stopped) return this.#finish(running);
    const { timeoutMs } = running.step.body;
    if (timeoutMs !== undefined) {
      const at = this.#options.monotonic() + timeoutMs;
      running.timer = this.#options.wheel.schedule(at, () => this.#timedOut(running));
    }
    void this.#run(running);
  }

  async #run(running: RunningStep): Promise<void> {
    const { held, step, attempt } = running;
    if (step.inTransaction !== undefined)
      return this.#runInTransaction(running, step.inTransaction);
    const frame = { kind: "step", name: step.name, instanceId: held.id } as const;
    const call = (): unknown => step.fn(attempt);
    const { codec, loop, telemetry, monotonic } = this.#options;
    const { name, sequence } = step;
    const span = { name, sequence, attempt: attempt.attempt };
    const watch =
      telemetry === null
        ? null
        : new AttemptWatch(telemetry, stepSpan(held, held.run, span), monotonic);
    const fn = watch === null ? call : (): unknown => watch.enter(call);
    this.#options.entering(`step "${step.name}" of ${held.id}`);
    const since = loop.now();
    const ended = runAttempt({ frame, fn, codec });
    loop.reached(frame, since);
    this.#options.entering("");
    const result = await ended;
    loop.ended(frame);
    watch?.over(running.over ? "cancelled" : result.kind);
    this.#settle(running, result);
    this.#next();
  }

  async #runInTransaction(
    running: RunningStep,
    fn: (transaction: unknown) => unknown,
  ): Promise<void> {
    const { held, step, execution } = running;
    const { key, token, id } = held;
    const { sequence, name } = step;
    const attempts = step.failures + 1;
    const end = await runInTransaction({
      ...this.#options,
      frame: { kind: "step", name, instanceId: id },
      fn,
      outcome: (output) => {
        const body = { kind: "StepCompleted", scheduled: sequence, output, attempts };
        const outcome = JSON.stringify(body);
        return { kind: "stepOutcome", key, token, execution, sequence, outcome };
      },
      isOver: () => running.over,
    });
    if (end.kind === "failed") this.#settle(running, end.result);
    else this.#finish(running); // what was committed comes back as a message
    this.#next();
  }

  #timedOut(running: RunningStep): void {
    const failure = timeoutFailure("step");
    running.attempt.abort(new PerdureError("TIMEOUT", failure.message));
    this.#settle(running, { kind: "failed", failure, retryAfterMs: null });
    this.#next();
  }

  #settle(running: RunningStep, result: AttemptResult): void {
    if (running.over) return;
    this.#finish(running);
    const { held, step } = running;
    const scheduled = step.sequence;
    const attempts = step.failures + 1;
    if (result.kind === "completed") {
      const body = { kind: "StepCompleted", scheduled, output: result.output, attempts } as const;
      return this.#options.onOutcome(held, body);
    }
    const { failure } = result;
    const policy = step.body.retry ?? normalizeRetry(undefined);
    const count = { failures: attempts, max: policy.maxAttempts };
    const failed = { kind: "step", description: running.attempt, failure, count } as const;
    const { log } = this.#options;
    if (!shouldRetry({ policy, failures: attempts, failure })) {
      logFailedAttempt(log, { ...failed, next: { kind: "none", why: whyNoRetry(count) } });
      const body = { kind: "StepFailed", scheduled, failure, attempts } as const;
      return this.#options.onOutcome(held, body);
    }
    const delayMs = result.retryAfterMs ?? retryDelay(policy, attempts, this.#options.random);
    logFailedAttempt(log, { ...failed, next: { kind: "retry", delayMs } });
    const due = this.#options.storeNow() + delayMs;
    const body = { kind: "StepAttemptFailed", scheduled, attempt: attempts, failure, due } as const;
    this.#options.onOutcome(held, body);
  }

  /** Cancelled by its orchestration. */
  abort(held: HeldInstance, sequence: number, reason: string): void {
    for (const running of this.#all(held)) {
      if (running.step.sequence === sequence) this.#drop(running, new CancelledError(reason));
    }
  }

  /** The instance is no longer held here, or its execution ended. */
  abortAll(held: HeldInstance, reason: () => Error): void {
    this.#early.delete(held);
    if (this.#running.size === 0 && this.#waiting.length === 0) return;
    for (const running of this.#all(held)) this.#drop(running, reason());
  }

  #all(held: HeldInstance): readonly RunningStep[] {
    return [...this.#running, ...this.#waiting].filter((running) => running.held === held);
  }

  #drop(running: RunningStep, reason: Error): void {
    this.#finish(running);
    running.attempt.abort(reason);
  }

  #finish(running: RunningStep): void {
    running.over = true;
    running.timer?.cancel();
    this.#running.delete(running);
  }
}
