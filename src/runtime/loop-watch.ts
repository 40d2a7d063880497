// Loop watch: notices user code that keeps the main loop from turning, and names it.
//   LO1. The part of an activity or step before its first await is timed: what that holds up is its own doing.
//   LO2. Everything else is seen by a timer that comes late. Who held the loop cannot be known then, so the line
//        names who may have: what runs, and what ended since the timer came last (the newest LATELY_MAX of them).
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

export interface LoopWatchOptions {
  readonly environment: Environment;
  readonly log: LogSink;
  /** What runs in this process now. */
  readonly running: () => readonly WorkFrame[];
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
    const advice =
      frame.kind === "activity" ? "run it" : "make it an activity of its own and run that";
    this.#warn(tookMs, `${nameOf(frame)} blocked the event loop for ${shown(tookMs)}; ${advice}`);
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
    const frames = [...new Set([...lately, ...this.#o.running()])];
    if (frames.length === 0) return this.#o.onStall(stalledMs);
    const names = frames.slice(0, NAMES_MAX).map(nameOf);
    const more = frames.length - names.length;
    if (more > 0) names.push(`${more} more`);
    const where = frames.length === 1 ? names[0] : `one of these: ${names.join(", ")}`;
    const what = `the event loop stood still for ${shown(stalledMs)}, probably in ${where}`;
    this.#warn(stalledMs, `${what}; run what is slow`);
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
    this.#o.log("warn", `${what} in a thread: executor: threads(...)`, fields);
  }
}

function nameOf({ kind, name, instanceId }: WorkFrame): string {
  return `${kind} "${name}" of ${instanceId}`;
}

function shown(ms: number): string {
  return `${Math.round(ms).toLocaleString("en")} ms`;
}
