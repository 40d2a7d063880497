// The pump: delivers events to runs, one delivery per macrotask. The microtasks of a delivery are called
// its drain.
//   - All microtasks of a delivery run before the next callback begins. So no other code runs within a
//     drain, and a drain that never ends can be attributed to its instance.
//   - pump.1: Callbacks are requested in groups: at most AHEAD_MAX that deliver, and one that only ends
//     the last drain. Host macrotasks requested together run without a turn of the event loop in between.
//     So no timer, no I/O callback and no other code runs while a drain is open. A job that is added
//     while a group is pending waits for the next group, unless the group has a delivery left for it.
//   - pump.2: A run that replays continues before other runs begin, because its next event is already
//     available.
//   - pump.3: The pump keeps no reference to a job that it has handed out, because a job holds the
//     payloads of its turn.
//   - pump.4: When the time slice of the event loop is over (loop-slice.ts), the remaining callbacks of
//     the group deliver nothing. The last callback requests the next group, which runs after the event
//     loop has turned.

import { drain } from "../../core/context/async-context.ts";
import type { Environment } from "../../core/time/environment.ts";
import type { Run } from "../../core/replay/run.ts";
import { LoopSlice } from "../health/loop-slice.ts";

const AHEAD_MAX = 512;

/** A job that is delivered in steps, with a drain after each step. */
export interface DrainJob {
  readonly run: Run;
  readonly label: string;
  /** Makes the next delivery. */
  step(): void;
  /** Called after the drain. Returns whether there is another step. */
  after(): boolean;
  /** How many steps will certainly follow the next one: recorded events left to replay. */
  readonly certain: number;
}

export class Pump {
  readonly #environment: Environment;
  readonly #slice: LoopSlice;
  readonly #onIdle: () => void;
  /** Reports what is about to run; an empty text when no run is active. */
  readonly #entering: (label: string) => void;
  /** Slots before `#head` are null (pump.3). */
  #waiting: (DrainJob | null)[] = [];
  #head = 0;
  #draining: DrainJob | null = null;
  /** A job that replays. It continues before any waiting job (pump.2). */
  #replaying: DrainJob | null = null;
  /** Whether the callbacks of a group are requested and the last one has not run. */
  #isPending = false;

  constructor(options: {
    environment: Environment;
    /** Shared with the other user code of the runtime. */
    slice?: LoopSlice;
    onIdle: () => void;
    entering: (label: string) => void;
  }) {
    this.#environment = options.environment;
    this.#slice = options.slice ?? new LoopSlice(options.environment);
    this.#onIdle = options.onIdle;
    this.#entering = options.entering;
  }

  add(job: DrainJob): void {
    this.#waiting.push(job);
    this.#request();
  }

  get isIdle(): boolean {
    return this.#draining === null && this.#left === 0;
  }

  get #left(): number {
    return this.#waiting.length - this.#head + (this.#replaying === null ? 0 : 1);
  }

  /** Requests the next group, unless one is pending. */
  #request(): void {
    if (this.#isPending) return;
    this.#isPending = true;
    const certain = this.#replaying?.certain ?? 0;
    const deliveries = Math.min(this.#left + certain, AHEAD_MAX);
    for (let i = 0; i < deliveries; i++) this.#environment.immediate(this.#deliver);
    this.#environment.immediate(this.#close);
  }

  readonly #deliver = (): void => {
    this.#endDrain();
    if (!this.#slice.mayBegin()) return; // pump.4
    const next = this.#take();
    if (next === null) return;
    this.#draining = next;
    this.#entering(next.label);
    drain.run = next.run;
    next.step();
  };

  /**
   * The last callback of a group begins nothing, because no callback of the group would end its drain.
   */
  readonly #close = (): void => {
    this.#endDrain();
    this.#isPending = false;
    if (!this.isIdle) return this.#request();
    this.#entering("");
    this.#onIdle();
  };

  /** Ends the drain of the previous callback. */
  #endDrain(): void {
    const job = this.#draining;
    if (job === null) return;
    drain.run = null;
    this.#draining = null;
    if (!job.after()) return;
    if (job.certain > 0) this.#replaying = job;
    else this.#waiting.push(job);
  }

  #take(): DrainJob | null {
    const replaying = this.#replaying;
    this.#replaying = null;
    if (replaying !== null) return replaying;
    const job = this.#waiting[this.#head] ?? null;
    if (job === null) return null;
    this.#waiting[this.#head++] = null;
    if (this.#head > 1_024 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    return job;
  }
}
