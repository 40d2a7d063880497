// Loop watch: notices user code that keeps the main loop from turning, and names it.
//   LO1. The part of an activity or step before its first await is timed: what that holds up is its own doing.
//   LO2. Everything else is seen by a timer that comes late. Who held the loop cannot be known then, so the line
//        names who may have: what runs, and what ended since the timer came last (the newest LATELY_MAX of them).
//        A process that was stopped as a whole is reported as such: no activity is to blame.
//   LO3. One line in WARN_EVERY_MS at most; it tells how many stalls had none. Nothing else follows from a stall:
//        leases live on the heart's beats (architecture §4.7).

import type { WorkFrame } from "../core/async-context.ts";
import type { Environment, TimerHandle } from "../core/environment.ts";
import type { LogSink } from "../core/log.ts";

const LOOK_EVERY_MS = 250;
/** A loop that turned within this time is no news. */
const STALL_MS = 500;
const WARN_EVERY_MS = 10_000;
const LATELY_MAX = 64;
const NAMES_MAX = 3;
const IN_A_THREAD = "in a thread: executor: threads(...)";

export interface LoopWatchOptions {
  readonly environment: Environment;
  readonly log: LogSink;
  /** What runs in this process now. */
  readonly running: () => readonly WorkFrame[];
  /** Whether the whole process stood still for most of the last `ms`. */
  readonly wasSuspended: (ms: number) => boolean;
  /** Counts it. */
  readonly onStall: (stalledMs: number) => void;
}

export class LoopWatch {
  readonly #o: LoopWatchOptions;
  /** A ring: what ended since the last look. */
  readonly #lately: WorkFrame[] = [];
  #ended = 0;
  /** Stalls since the last look that have their line already. */
  #explainedMs = 0;
  #warnedAt = -Infinity;
  #unsaid = 0;
  #suspendedAt = -Infinity;
  #timer: TimerHandle | null = null;

  constructor(options: LoopWatchOptions) {
    this.#o = options;
  }

  start(): void {
    const { environment } = this.#o;
    this.#timer = environment.watchDelay?.(LOOK_EVERY_MS, (lateMs) => this.#look(lateMs)) ?? null;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** To be asked before user code is entered. */
  now(): number {
    return this.#o.environment.monotonic();
  }

  /** User code that was entered at `since` has reached its first await, or its end. */
  reached(frame: WorkFrame, since: number): void {
    const tookMs = this.#o.environment.monotonic() - since;
    if (tookMs < STALL_MS) return;
    this.#explainedMs += tookMs;
    if (this.#o.wasSuspended(tookMs)) return this.#suspended(tookMs);
    const advice =
      frame.kind === "activity" ? "run it" : "make it an activity of its own and run that";
    const what = `${nameOf(frame)} blocked the event loop for ${shown(tookMs)}`;
    this.#warn(tookMs, `${what}; ${advice} ${IN_A_THREAD}`);
  }

  ended(frame: WorkFrame): void {
    this.#lately[this.#ended++ % LATELY_MAX] = frame;
  }

  #look(lateMs: number): void {
    const stalledMs = lateMs - this.#explainedMs;
    const lately = this.#lately.slice(0, this.#ended);
    this.#explainedMs = 0;
    this.#ended = 0;
    if (stalledMs < STALL_MS) return;
    if (this.#o.wasSuspended(stalledMs)) return this.#suspended(stalledMs);
    const frames = [...new Set([...lately, ...this.#o.running()])];
    if (frames.length === 0) return this.#o.onStall(stalledMs);
    const names = frames.slice(0, NAMES_MAX).map(nameOf);
    const more = frames.length - names.length;
    if (more > 0) names.push(`${more} more`);
    const where = frames.length === 1 ? names[0] : `one of these: ${names.join(", ")}`;
    const what = `the event loop stood still for ${shown(stalledMs)}, probably in ${where}`;
    this.#warn(stalledMs, `${what}; run what is slow ${IN_A_THREAD}`);
  }

  /** Not the fault of any activity: has its own rate limit. */
  #suspended(ms: number): void {
    this.#o.onStall(ms);
    const now = this.now();
    if (now - this.#suspendedAt < WARN_EVERY_MS) return;
    this.#suspendedAt = now;
    const what = `the process was stopped or suspended for ${shown(ms)}`;
    const why = "(SIGSTOP, a debugger, a paused machine, or no CPU time)";
    this.#o.log("warn", `${what} ${why}; no activity or step is to blame`, {});
  }

  #warn(stalledMs: number, what: string): void {
    this.#o.onStall(stalledMs);
    const now = this.now();
    if (now - this.#warnedAt < WARN_EVERY_MS) {
      this.#unsaid++;
      return;
    }
    const fields = this.#unsaid === 0 ? {} : { stallsBefore: this.#unsaid };
    this.#warnedAt = now;
    this.#unsaid = 0;
    this.#o.log("warn", what, fields);
  }
}

function nameOf({ kind, name, instanceId }: WorkFrame): string {
  return `${kind} "${name}" of ${instanceId}`;
}

function shown(ms: number): string {
  return `${Math.round(ms).toLocaleString("en")} ms`;
}
