// One activity under way in this runtime: what it said last, and when its time is over.
//   RA1. Its time begins with its run, not while it waits for a thread.
//   RA2. What it says counts while it is active: a beat, or progress, that comes later is nobody's.

import type { WorkFrame } from "../core/async-context.ts";
import type { TimerHandle } from "../core/environment.ts";
import type { LeasedTask } from "../core/provider/tasks.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";
import type { ActivityVoice } from "./activity-run.ts";
import type { AttemptWatch } from "./observation.ts";
import type { Tellings } from "./tellings.ts";
import type { Ticket } from "./thread-pool.ts";

export interface RunningActivityOptions {
  readonly wheel: TimerWheel;
  readonly monotonic: () => number;
  readonly onTimeout: (running: RunningActivity, what: string) => void;
  readonly tellings: Tellings;
}

export class RunningActivity implements ActivityVoice {
  readonly task: LeasedTask;
  /** The attempt in this process, or its way through the threads. */
  work: Pick<Ticket, "abort"> & Partial<Ticket> = UNENTERED;
  /** Set for one that runs in this process. */
  frame: WorkFrame | null = null;
  /** Set where somebody observes. */
  watch: AttemptWatch | null = null;
  /** The last heartbeat's, encoded; they go with a retry. */
  details: string | null = null;
  /** active → winding (decided; the handler may still end within its grace) → gone (its slot is free). */
  state: "active" | "winding" | "gone" = "active";
  /** Its input cannot be read here; it waits to be handed back. */
  isWithheld = false;
  readonly #o: RunningActivityOptions;
  #timer: TimerHandle | null = null;
  #beatTimer: TimerHandle | null = null;
  /** The last heartbeat, or the beginning. */
  #beatAt = 0;

  constructor(task: LeasedTask, options: RunningActivityOptions) {
    this.task = task;
    this.#o = options;
  }

  /** User code is about to be entered. */
  entered(): void {
    const { options } = this.task;
    if (options === null) return;
    const now = this.#o.monotonic();
    const { timeoutMs } = options;
    if (timeoutMs !== undefined) {
      const over = (): void => this.#o.onTimeout(this, "activity");
      this.#timer = this.#o.wheel.schedule(now + timeoutMs, over);
    }
    this.#beatAt = now;
    this.#watchBeats();
  }

  heartbeat(details: string | null): void {
    if (this.state !== "active") return;
    this.#beatAt = this.#o.monotonic();
    if (details === null) return; // it lives; there is nothing to keep
    this.details = details;
    this.#o.tellings.details(this.task, details);
  }

  progress(value: string): void {
    if (this.state !== "active") return;
    this.#beatAt = this.#o.monotonic();
    this.#o.tellings.progress(this.task, value);
  }

  /** One timer at a time, moved on when it comes due: a beat costs nothing. */
  #watchBeats(): void {
    const timeoutMs = this.task.options?.heartbeatTimeoutMs;
    if (timeoutMs === undefined) return;
    const { wheel, monotonic, onTimeout } = this.#o;
    this.#beatTimer = wheel.schedule(this.#beatAt + timeoutMs, () => {
      if (monotonic() < this.#beatAt + timeoutMs) this.#watchBeats();
      else onTimeout(this, "activity heartbeat");
    });
  }

  /** A last time, in place of its own. */
  endsBy(at: number, over: () => void): void {
    this.stopTimers();
    this.#timer = this.#o.wheel.schedule(at, over);
  }

  stopTimers(): void {
    this.#timer?.cancel();
    this.#beatTimer?.cancel();
  }
}

const UNENTERED = { abort: () => undefined };
