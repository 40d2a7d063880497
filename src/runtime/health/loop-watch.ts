// Loop watch: detects user code that blocks the event loop, and names it.
//   - The part of an activity or step before its first await is timed, so a block there can be attributed
//     to it.
//   - All other blocks are detected by a timer that fires late. The exact cause is unknown then, so the
//     log line names the candidates: what runs now, and what ended since the timer last fired (the newest
//     LATELY_MAX of them). A process that was suspended as a whole is reported as such.
//   - At most one line per WARN_EVERY_MS is logged. It includes the number of stalls that were not
//     logged. A stall has no other effect: leases depend on the heartbeats of the liveness thread
//     (ARCHITECTURE.md, "Liveness").

import type { WorkFrame } from "../../core/context/async-context.ts";
import type { Environment, TimerHandle } from "../../core/time/environment.ts";
import type { LogSink } from "../../core/telemetry/log.ts";

const LOOK_EVERY_MS = 250;
/** Shorter stalls are not reported. */
const STALL_MS = 500;
const WARN_EVERY_MS = 10_000;
const LATELY_MAX = 64;
const NAMES_MAX = 3;
const IN_A_THREAD = "in a thread: executor: threads(...)";

export interface LoopWatchOptions {
  readonly environment: Environment;
  readonly log: LogSink;
  /** The attempts that run in this process now. */
  readonly running: () => readonly WorkFrame[];
  /** Whether the whole process was suspended for most of the last `ms`. */
  readonly wasSuspended: (ms: number) => boolean;
  /** Counts the stall. */
  readonly onStall: (stalledMs: number) => void;
}

export class LoopWatch {
  readonly #deps: LoopWatchOptions;
  /** A ring buffer of attempts that ended since the last look. */
  readonly #lately: WorkFrame[] = [];
  #ended = 0;
  /** Stalled time since the last look that is already logged. */
  #explainedMs = 0;
  #warnedAt = -Infinity;
  #unlogged = 0;
  #suspendedAt = -Infinity;
  #timer: TimerHandle | null = null;

  constructor(options: LoopWatchOptions) {
    this.#deps = options;
  }

  start(): void {
    const { environment } = this.#deps;
    this.#timer = environment.watchDelay?.(LOOK_EVERY_MS, (lateMs) => this.#look(lateMs)) ?? null;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** To be read before user code is entered. */
  now(): number {
    return this.#deps.environment.monotonic();
  }

  /** User code that was entered at `since` has reached its first await, or its end. */
  reached(frame: WorkFrame, since: number): void {
    const tookMs = this.#deps.environment.monotonic() - since;
    if (tookMs < STALL_MS) return;
    this.#explainedMs += tookMs;
    if (this.#deps.wasSuspended(tookMs)) return this.#suspended(tookMs);
    const advice = frame.kind === "activity" ? "run it" : "move it into an activity and run that";
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
    if (this.#deps.wasSuspended(stalledMs)) return this.#suspended(stalledMs);
    const frames = [...new Set([...lately, ...this.#deps.running()])];
    if (frames.length === 0) return this.#deps.onStall(stalledMs);
    const names = frames.slice(0, NAMES_MAX).map(nameOf);
    const more = frames.length - names.length;
    if (more > 0) names.push(`${more} more`);
    const where = frames.length === 1 ? names[0] : `one of these: ${names.join(", ")}`;
    const what = `the event loop was blocked for ${shown(stalledMs)}, probably in ${where}`;
    this.#warn(stalledMs, `${what}; run slow code ${IN_A_THREAD}`);
  }

  /** No activity caused this, so it has a separate rate limit. */
  #suspended(ms: number): void {
    this.#deps.onStall(ms);
    const now = this.now();
    if (now - this.#suspendedAt < WARN_EVERY_MS) return;
    this.#suspendedAt = now;
    const what = `the process was stopped or suspended for ${shown(ms)}`;
    const why = "(SIGSTOP, a debugger, a paused machine, or no CPU time)";
    this.#deps.log("warn", `${what} ${why}; no activity or step caused it`, {});
  }

  #warn(stalledMs: number, what: string): void {
    this.#deps.onStall(stalledMs);
    const now = this.now();
    if (now - this.#warnedAt < WARN_EVERY_MS) {
      this.#unlogged++;
      return;
    }
    const fields = this.#unlogged === 0 ? {} : { stallsBefore: this.#unlogged };
    this.#warnedAt = now;
    this.#unlogged = 0;
    this.#deps.log("warn", what, fields);
  }
}

function nameOf({ kind, name, instanceId }: WorkFrame): string {
  return `${kind} "${name}" of ${instanceId}`;
}

function shown(ms: number): string {
  return `${Math.round(ms).toLocaleString("en")} ms`;
}
