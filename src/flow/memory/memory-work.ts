// One call of an activity or a step in `runFlow`: its attempts, one after the other.
//   Owns: the heartbeat details and the wait between two attempts. Does not own: an attempt, which is the same
//   as in a runtime (core/attempts).

import {
  ActivityAttempt,
  DescribedAttempt,
  type ActivityReports,
  type AttemptedCall,
} from "../../core/attempts/attempt-context.ts";
import { decide, type Decision } from "../../core/attempts/decide.ts";
import { runAttempt, type AttemptResult } from "../../core/attempts/run-attempt.ts";
import { RunningAttempt } from "../../core/attempts/running-attempt.ts";
import type { StreamSink } from "../../core/attempts/stream-writer.ts";
import type { ContextValues } from "../../core/context/app-types.ts";
import { CancelledError } from "../../core/errors/outcome-errors.ts";
import type { TimerHandle } from "../../core/time/environment.ts";
import type { MemoryWorld } from "./memory-world.ts";

export interface WorkOptions {
  readonly world: MemoryWorld;
  readonly kind: "activity" | "step";
  readonly call: AttemptedCall;
  readonly context: ContextValues;
  /** Calls user code. */
  readonly fn: (context: ActivityAttempt) => unknown;
  readonly onOutcome: (outcome: Exclude<Decision, { kind: "retry" }>, attempts: number) => void;
}

export class MemoryWork {
  readonly #options: WorkOptions;
  #running: RunningAttempt | null = null;
  /** Ends the wait for the next attempt. */
  #timer: TimerHandle | null = null;
  #lastHeartbeat: string | null = null;

  constructor(options: WorkOptions) {
    this.#options = options;
    this.#attempt(1);
  }

  cancel(reason: string): void {
    this.#timer?.cancel();
    this.#running?.abort(new CancelledError(reason));
  }

  #attempt(attempt: number): void {
    const { world, kind, call, fn } = this.#options;
    const description = new DescribedAttempt(kind, call, { attempt, worker: "memory" });
    const running = new RunningAttempt(description, world);
    const reports: ActivityReports = {
      heartbeat: (details) => {
        if (running.beat()) this.#lastHeartbeat = details ?? this.#lastHeartbeat;
      },
      progress: () => void running.beat(), // the value has no reader
    };
    const own = {
      context: this.#options.context,
      lastHeartbeat: this.#lastHeartbeat,
      reports,
      streams: () => NO_READERS,
      logged: null,
      later: null,
    };
    const context = new ActivityAttempt(description, world, own);
    running.handle = context;
    this.#running = running;
    running.begin(call.options ?? null, (result) => this.#ended(running, result));
    const { frame } = running;
    void runAttempt({ frame, fn: () => fn(context), codec: world.codec }).then((result) => {
      if (running.end(result.kind)) this.#ended(running, result);
    });
  }

  #ended({ description }: RunningAttempt, result: AttemptResult): void {
    const { world, call, onOutcome } = this.#options;
    const { attempt: failures } = description;
    const policy = call.options?.retry;
    const decision = decide(result, { description, policy, failures }, world);
    if (decision.kind !== "retry") return onOutcome(decision, failures);
    const at = world.monotonic() + decision.delayMs;
    this.#timer = world.wheel.schedule(at, () => this.#attempt(failures + 1));
  }
}

/** A flow in memory has no instance, so the streams of its activities have no readers. */
const NO_READERS: StreamSink = {
  hasCapacity: () => true,
  append: () => null,
  flush: async () => undefined,
};
