// The timeline: the one thread on which every simulated process, the network and the store take their turns.
//   TL1. One callback at a time; its microtasks have run dry before the next one begins.
//   TL2. A process runs what it has ready as one group, as a host's loop does: nothing of anybody else's comes in
//        between (E1, E2 of Environment). Which process runs next is drawn.
//   TL3. Time moves only when nobody has anything ready, and then to the next timer. Timers of one due time fire in
//        an order that is drawn.
//   TL4. A paused process runs nothing, and meets what came due meanwhile when it goes on. A dead one never runs
//        again: what it had ready, and its timers, are gone.
//   TL5. What a callback throws is the process's uncaught exception; it is handed over, never swallowed.

import { drain } from "../../core/async-context.ts";
import type { TimerHandle } from "../../core/environment.ts";
import { popFirst, pushTimer, type HeapTimer } from "../timer-heap.ts";
import type { Chance } from "./chance.ts";

type Callback = () => void;

/** The event loop of one process. */
export interface Loop {
  readonly name: string;
  ready: Callback[];
  /** Timers that came due while it was paused. */
  late: Callback[];
  state: "running" | "paused" | "dead";
  /** Timers of its engine that have neither fired nor been cancelled. */
  timers: number;
  /** Callbacks that it ran. */
  steps: number;
  /** Called when that many more callbacks have run, in the middle of whatever it is doing. */
  doom: { left: number; readonly strike: () => void } | null;
}

interface Timer extends HeapTimer {
  readonly loop: Loop | null;
  /** Whether the loop counts it: user code's are its own affair. */
  readonly isCounted: boolean;
  readonly fn: Callback;
  state: "waiting" | "over";
}

/** What a loop had ready when its turn came. */
interface Group {
  readonly loop: Loop;
  readonly callbacks: readonly Callback[];
  next: number;
}

export interface TimelineOptions {
  readonly chance: Chance;
  readonly onUncaught: (loop: Loop | null, error: unknown) => void;
  /** Told of every choice, so that two runs can be compared. */
  readonly onStep: (choice: number) => void;
}

/** Host macrotasks asked for together follow each other without a turn of the host's loop. */
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
  /** Nothing is ready and no timer waits. */
  #isStill = false;

  constructor(options: TimelineOptions) {
    this.#o = options;
  }

  /** Milliseconds since the beginning. */
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

  /** Without a loop it belongs to the world, which neither pauses nor dies. */
  after(delayMs: number, fn: Callback, loop: Loop | null = null, isCounted = true): TimerHandle {
    const order = this.#o.chance.random();
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

  /** Hands a callback to a loop, as a host does with an answer from the network. */
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

  /** The process is gone, perhaps in the middle of its code. */
  kill(loop: Loop): void {
    loop.state = "dead";
    loop.ready = [];
    loop.late = [];
    loop.doom = null;
    if (this.#group?.loop !== loop) return;
    this.#group = null;
    drain.run = null; // it never comes to the end of the drain it was in
  }

  /** Lets a dead loop run once more, without anything it had: to take down what it had put up. */
  revive(loop: Loop): void {
    loop.state = "running";
    loop.timers = 0;
  }

  removeLoop(loop: Loop): void {
    this.kill(loop);
    const index = this.#loops.indexOf(loop);
    if (index >= 0) this.#loops.splice(index, 1);
  }

  /** Runs until the promise settles. "endless": it did not within so many steps, or nobody has anything to do. */
  async run<T>(work: Promise<T>, stepsMax = Infinity): Promise<"settled" | "endless"> {
    if (this.#running) throw new Error("the timeline runs already");
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

  /** One callback. Moving time and handing over timers runs nobody's code: no macrotask of the host's is spent on it. */
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

  /** Whose turn it is; a timer of the world is called at once. "moved": nothing was called yet. */
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
    const choice = count === 1 ? 0 : this.#o.chance.below(count);
    this.#o.onStep(this.#now * 16 + choice);
    if (choice >= ready) return first === undefined ? "moved" : this.#fire(first);
    return (this.#group = this.#groupOf(choice));
  }

  /** All that the how-manieth ready loop has ready. */
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
