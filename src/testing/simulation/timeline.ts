// Timeline: the single thread that runs the callbacks of all simulated processes, the network and the store.
//   - One callback runs at a time. All its microtasks run before the next callback begins.
//   - A process runs all its ready callbacks as one group, as a host's event loop does. No callback of
//        another process runs in between (environment.1, environment.2 of Environment). The next process is
//        drawn.
//   - Time moves only when no process has a ready callback, and then to the next timer. Timers with the
//        same due time fire in a drawn order.
//   - A paused process runs nothing. When it resumes, it runs the timers that came due meanwhile. A dead
//        process never runs again: its ready callbacks and its timers are dropped.
//   - An error that a callback throws is an uncaught exception of its process. The timeline reports each of
//        them.

import { drain } from "../../core/context/async-context.ts";
import type { TimerHandle } from "../../core/time/environment.ts";
import { popFirst, pushTimer, type HeapTimer } from "../timer-heap.ts";
import type { SeededRandom } from "./world/seeded-random.ts";

type Callback = () => void;

/** The event loop of one process. */
export interface Loop {
  readonly name: string;
  ready: Callback[];
  /** Timers that came due while the process was paused. */
  late: Callback[];
  state: "running" | "paused" | "dead";
  /** The number of timers of the engine that have neither fired nor been cancelled. */
  timers: number;
  /** The number of callbacks that have run. */
  steps: number;
  /** A planned crash: `strike` is called after `left` more callbacks, at an arbitrary point of the code. */
  doom: { left: number; readonly strike: () => void } | null;
}

interface Timer extends HeapTimer {
  readonly loop: Loop | null;
  /** Whether the timer counts in `Loop.timers`. Timers of user code do not count. */
  readonly isCounted: boolean;
  readonly fn: Callback;
  state: "waiting" | "over";
}

/** The callbacks that a loop had ready when it was chosen. */
interface Group {
  readonly loop: Loop;
  readonly callbacks: readonly Callback[];
  next: number;
}

export interface TimelineOptions {
  readonly random: SeededRandom;
  readonly onUncaught: (loop: Loop | null, error: unknown) => void;
  /** Called with every choice, so that two runs can be compared. */
  readonly onStep: (choice: number) => void;
}

/** Host macrotasks requested at once. They run one after another without a round of the host's event loop. */
const AHEAD = 128;
const hostSetImmediate = setImmediate;

export class Timeline {
  readonly #o: TimelineOptions;
  readonly #loops: Loop[] = [];
  readonly #timers: Timer[] = [];
  #now = 0;
  #steps = 0;
  #group: Group | null = null;
  #running = false;
  /** True if no callback is ready and no timer is set. */
  #isStill = false;

  constructor(options: TimelineOptions) {
    this.#o = options;
  }

  /** Milliseconds since the start of the run. */
  get now(): number {
    return this.#now;
  }
  get steps(): number {
    return this.#steps;
  }

  addLoop(name: string): Loop {
    const loop: Loop = {
      name,
      ready: [],
      late: [],
      state: "running",
      timers: 0,
      steps: 0,
      doom: null,
    };
    this.#loops.push(loop);
    return loop;
  }

  /** Sets a timer. Without a loop the timer belongs to the world, which is never paused and never crashes. */
  after(delayMs: number, fn: Callback, loop: Loop | null = null, isCounted = true): TimerHandle {
    const order = this.#o.random.fraction();
    const due = this.#now + delayMs;
    const timer: Timer = { due, order, loop, fn, isCounted, state: "waiting" };
    if (loop !== null && isCounted) loop.timers++;
    pushTimer(this.#timers, timer);
    return {
      cancel: () => {
        if (timer.state === "waiting" && loop !== null && isCounted) loop.timers--;
        timer.state = "over";
      },
    };
  }

  /** Queues a callback on a loop, as a host does with a reply from the network. */
  post(loop: Loop, fn: Callback): void {
    if (loop.state !== "dead") loop.ready.push(fn);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  pause(loop: Loop): void {
    if (loop.state === "running") loop.state = "paused";
  }

  resume(loop: Loop): void {
    if (loop.state !== "paused") return;
    loop.state = "running";
    loop.ready.push(...loop.late.splice(0));
  }

  /** Ends the process, perhaps in the middle of its code. */
  kill(loop: Loop): void {
    loop.state = "dead";
    loop.ready = [];
    loop.late = [];
    loop.doom = null;
    if (this.#group?.loop !== loop) return;
    this.#group = null;
    drain.run = null; // the dead loop must not continue its current group
  }

  /**
   * Lets a dead loop run again, without its old callbacks and timers, so that the process can be cleaned
   * up.
   */
  revive(loop: Loop): void {
    loop.state = "running";
    loop.timers = 0;
  }

  removeLoop(loop: Loop): void {
    this.kill(loop);
    const index = this.#loops.indexOf(loop);
    if (index >= 0) this.#loops.splice(index, 1);
  }

  /**
   * Runs until the promise settles. "endless": it did not settle within `stepsMax`, or no callback is left
   * to run.
   */
  async run<T>(work: Promise<T>, stepsMax = Infinity): Promise<"settled" | "endless"> {
    if (this.#running) throw new Error("The timeline is already running.");
    this.#running = true;
    let settled = false;
    const over = (): void => {
      settled = true;
    };
    work.then(over, over);
    const limit = this.#steps + stepsMax;
    this.#isStill = false;
    try {
      while (!settled && !this.#isStill && this.#steps < limit) await this.#batch(() => settled);
    } finally {
      this.#running = false;
    }
    return settled ? "settled" : "endless";
  }

  #batch(isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      for (let i = 0; i < AHEAD; i++) {
        hostSetImmediate(() => {
          if (!isOver()) this.#step();
        });
      }
      hostSetImmediate(resolve);
    });
  }

  /**
   * Runs one callback. Moving time and queueing due timers runs no user code, so it takes no host
   * macrotask.
   */
  #step(): void {
    const doomed = this.#doomed();
    if (doomed !== null) return doomed.strike();
    let group = this.#group;
    while (group === null) {
      const chosen = this.#choose();
      if (chosen === "called" || chosen === "still") return;
      if (chosen !== "moved") group = chosen;
    }
    const callback = group.callbacks[group.next++];
    if (group.next >= group.callbacks.length) this.#group = null;
    if (callback !== undefined) this.#call(group.loop, callback);
  }

  #doomed(): Loop["doom"] {
    for (const loop of this.#loops) {
      const { doom } = loop;
      if (doom === null || doom.left > 0 || loop.state === "dead") continue;
      loop.doom = null;
      return doom;
    }
    return null;
  }

  /**
   * Chooses the next loop. A timer of the world is called at once. "moved": time moved, nothing was called.
   */
  #choose(): Group | "called" | "moved" | "still" {
    const first = this.#firstTimer();
    let ready = 0;
    for (const loop of this.#loops) if (isReady(loop)) ready++;
    const timerIsDue = first !== undefined && first.due <= this.#now;
    const count = ready + (timerIsDue ? 1 : 0);
    if (count === 0) {
      if (first === undefined) {
        this.#isStill = true;
        return "still";
      }
      this.#now = first.due;
      return "moved";
    }
    const choice = count === 1 ? 0 : this.#o.random.below(count);
    this.#o.onStep(this.#now * 16 + choice);
    if (choice >= ready) return first === undefined ? "moved" : this.#fire(first);
    return (this.#group = this.#groupOf(choice));
  }

  /** All ready callbacks of the chosen loop; `choice` counts the ready loops. */
  #groupOf(choice: number): Group {
    let left = choice;
    for (const loop of this.#loops) {
      if (!isReady(loop) || left-- > 0) continue;
      const callbacks = loop.ready;
      loop.ready = [];
      return { loop, callbacks, next: 0 };
    }
    throw new RangeError(`fewer than ${choice + 1} loops are ready`);
  }

  #firstTimer(): Timer | undefined {
    for (;;) {
      const first = this.#timers[0];
      if (first === undefined) return undefined;
      if (first.state === "waiting" && first.loop?.state !== "dead") return first;
      popFirst(this.#timers);
    }
  }

  #fire(timer: Timer): "called" | "moved" {
    popFirst(this.#timers);
    timer.state = "over";
    const { loop, fn, isCounted } = timer;
    if (loop === null) {
      this.#call(null, fn);
      return "called";
    }
    if (isCounted) loop.timers--;
    if (loop.state === "paused") loop.late.push(fn);
    else loop.ready.push(fn);
    return "moved";
  }

  #call(loop: Loop | null, callback: Callback): void {
    this.#steps++;
    if (loop !== null) {
      loop.steps++;
      if (loop.doom !== null) loop.doom.left--;
    }
    try {
      callback();
    } catch (error) {
      this.#o.onUncaught(loop, error);
    }
  }
}

function isReady(loop: Loop): boolean {
  return loop.state === "running" && loop.ready.length > 0;
}
