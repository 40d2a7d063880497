// The pump: gives every run its drains, one macrotask each.
//   PU1. Each delivery has a macrotask of its own; its microtasks run dry before the next callback begins, so
//        that nobody else's code runs inside it and a drain that never ends has a name.
//   PU2. Callbacks are asked for in groups: at most AHEAD_MAX that deliver, and one that only ends the drain
//        before it. Host macrotasks asked for together follow each other without a turn of the event loop in
//        between; so no timer, no I/O and nobody else's code ever meets an open drain.
//   PU3. A run that replays goes on before others begin: its next event is waiting, not somebody's answer.
//   PU4. The pump keeps no reference to a job that it has handed out: a job holds its turn's payloads.
//   PU5. When the slice of the loop is over (loop-slice.ts) the rest of a group delivers nothing; its last callback
//        asks for the next group, which runs after the loop has turned.

import { drain } from "../core/async-context.ts";
import type { Environment } from "../core/environment.ts";
import type { Run } from "../core/run.ts";
import { LoopSlice } from "./loop-slice.ts";

const AHEAD_MAX = 512;

/** Something that is delivered in steps, with a drain after each. */
export interface DrainJob {
  readonly run: Run;
  readonly label: string;
  /** Delivers the next thing. */
  step(): void;
  /** After its microtasks ran dry: whether there is another step. */
  after(): boolean;
  /** How many steps are certain to follow the next one: recorded events left to replay. */
  readonly certain: number;
}

export class Pump {
  readonly #environment: Environment;
  readonly #slice: LoopSlice;
  readonly #onIdle: () => void;
  /** Told what is about to run; an empty text when nothing of ours does. */
  readonly #entering: (label: string) => void;
  /** Slots before `#head` are null (PU4). */
  #waiting: (DrainJob | null)[] = [];
  #head = 0;
  #draining: DrainJob | null = null;
  /** Replays on, before anything that waits (PU3). */
  #goesOn: DrainJob | null = null;
  /** Deliveries asked for. */
  #asked = 0;

  constructor(options: {
    environment: Environment;
    /** Shared with other user code of the runtime. */
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
    this.#ask();
  }

  get isIdle(): boolean {
    return this.#draining === null && this.#left === 0;
  }

  get #left(): number {
    return this.#waiting.length - this.#head + (this.#goesOn === null ? 0 : 1);
  }

  #ask(): void {
    const certain = (this.#draining ?? this.#goesOn)?.certain ?? 0;
    const wanted = Math.min(this.#left + certain, AHEAD_MAX);
    if (this.#asked >= wanted) return;
    for (; this.#asked < wanted; this.#asked++) this.#environment.immediate(this.#deliver);
    this.#environment.immediate(this.#close);
  }

  readonly #deliver = (): void => {
    this.#asked--;
    if (this.#slice.mayBegin()) this.#tick(true);
    else this.#endDrain(); // PU5
  };
  /** The last of its group: what it began, nobody would end in time. */
  readonly #close = (): void => this.#tick(false);

  #tick(mayBegin: boolean): void {
    this.#endDrain();
    const next = mayBegin ? this.#take() : null;
    if (next !== null) {
      this.#draining = next;
      this.#entering(next.label);
      drain.run = next.run;
      next.step();
    }
    if (!this.isIdle) return this.#ask();
    this.#entering("");
    this.#onIdle();
  }

  /** Closes the drain of the callback before. */
  #endDrain(): void {
    const job = this.#draining;
    if (job === null) return;
    drain.run = null;
    this.#draining = null;
    if (!job.after()) return;
    if (job.certain > 0) this.#goesOn = job;
    else this.#waiting.push(job);
  }

  #take(): DrainJob | null {
    const goesOn = this.#goesOn;
    this.#goesOn = null;
    if (goesOn !== null) return goesOn;
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
