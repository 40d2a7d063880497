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
//   - pump.3: Jobs of different orchestrations take turns (lanes.ts).
//   - pump.4: When the time slice of the event loop is over (loop-slice.ts), the remaining callbacks of
//     the group deliver nothing. The last callback requests the next group, which runs after the event
//     loop has turned.
//   - pump.5: A large job waits while the committer holds more large items than it can write soon. Its
//     payload is then in memory once, not also as a decoded value and as a history row, and short jobs do
//     not wait for the time that it takes.

import { drain } from "../../core/context/async-context.ts";
import type { Environment } from "../../core/time/environment.ts";
import type { Run } from "../../core/replay/run.ts";
import { Lanes } from "../health/lanes.ts";
import { LoopSlice } from "../health/loop-slice.ts";

const AHEAD_MAX = 512;

/** A job that is delivered in steps, with a drain after each step. */
export interface DrainJob {
  readonly run: Run;
  readonly label: string;
  /** The name of its orchestration. */
  readonly name: string;
  /** Whether its turn writes a large item (pump.5). */
  readonly isLarge: boolean;
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
  #mayBeginLarge: () => boolean;
  /** pump.3 */
  readonly #short = new Lanes<DrainJob>();
  readonly #large = new Lanes<DrainJob>();
  #largeIsNext = false;
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
    /** pump.5 */
    mayBeginLarge?: () => boolean;
  }) {
    this.#environment = options.environment;
    this.#slice = options.slice ?? new LoopSlice(options.environment);
    this.#onIdle = options.onIdle;
    this.#entering = options.entering;
    this.#mayBeginLarge = options.mayBeginLarge ?? (() => true);
  }

  add(job: DrainJob): void {
    this.#wait(job);
    this.#request();
  }

  /** To be called when large jobs may begin again (pump.5). */
  readonly resume = (): void => {
    if (this.#large.length > 0) this.#request();
  };

  /** From now on large jobs are not held back. */
  release(): void {
    this.#mayBeginLarge = () => true;
    this.resume();
  }

  get isIdle(): boolean {
    return this.#draining === null && this.#left + this.#large.length === 0;
  }

  #wait(job: DrainJob): void {
    (job.isLarge ? this.#large : this.#short).add(job.name, job);
  }

  /** The number of jobs that may begin now. */
  get #left(): number {
    const large = this.#mayBeginLarge() ? this.#large.length : 0;
    return this.#short.length + large + (this.#replaying === null ? 0 : 1);
  }

  /** Requests the next group, unless one is pending. */
  #request(): void {
    const left = this.#left;
    if (this.#isPending || left === 0) return;
    this.#isPending = true;
    const certain = this.#replaying?.certain ?? 0;
    const deliveries = Math.min(left + certain, AHEAD_MAX);
    for (let i = 0; i < deliveries; i++) this.#environment.immediate(this.#deliver);
    this.#environment.immediate(this.#close);
  }

  readonly #deliver = (): void => {
    this.#endDrain();
    if (!this.#slice.mayBegin("deliveries")) return; // pump.4
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
    if (this.#left > 0) return this.#request();
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
    else this.#wait(job);
  }

  #take(): DrainJob | null {
    const replaying = this.#replaying;
    this.#replaying = null;
    if (replaying !== null) return replaying;
    const mayBeginLarge = this.#large.length > 0 && this.#mayBeginLarge();
    const takesLarge = mayBeginLarge && (this.#largeIsNext || this.#short.length === 0);
    this.#largeIsNext = mayBeginLarge && !takesLarge;
    return (takesLarge ? this.#large : this.#short).take();
  }
}
