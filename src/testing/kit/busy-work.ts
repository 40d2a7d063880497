// Busy work: the promises in flight in real time, which are store calls, activities and steps.
//   - busy-work.1: Virtual time stands still while a piece of work is in flight, so real I/O in an activity
//        takes no virtual time. Work that waits for virtual time itself (`idleWhile`) does not stop the
//        clock.
//   - The clock waits for each piece of work for a limited real time, so a piece that never ends does not
//        stop the clock forever.
//   - busy-work.2: This limit is short for code whose process has crashed: the store never answers its calls.

import { AsyncLocalStorage } from "node:async_hooks";

interface Piece {
  /** The piece waits for virtual time. */
  idle: boolean;
  /** From this moment on (real time) the clock no longer waits for the piece. */
  until: number;
  /** True for user code, false for a call to the store. */
  readonly isCode: boolean;
}

/** Code of a crashed process can still finish what needs no store; the clock waits this long for it. */
const CRASHED_PATIENCE_MS = 50;

const hostSetTimeout = setTimeout;
const hostClearTimeout = clearTimeout;
const hostNow = performance.now.bind(performance);

export class BusyWork {
  readonly #pieces = new Set<Piece>();
  readonly #hung = new WeakSet<Piece>();
  readonly #current = new AsyncLocalStorage<Piece>();
  readonly #patienceMs: number;
  #changed = Promise.withResolvers<void>();

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** Calls user code. If the code returns a promise, the clock waits for it. */
  run<T>(fn: () => T): T {
    const piece = { idle: false, until: hostNow() + this.#patienceMs, isCode: true };
    const result = this.#current.run(piece, fn);
    if (result instanceof Promise) this.#hold(piece, result);
    return result;
  }

  track(work: Promise<unknown>): void {
    this.#hold({ idle: false, until: hostNow() + this.#patienceMs, isCode: false }, work);
  }

  /** A process has crashed: shortens the limit of all user code in flight (busy-work.2). */
  crashed(): void {
    const until = hostNow() + CRASHED_PATIENCE_MS;
    for (const piece of this.#pieces) {
      if (piece.isCode) piece.until = Math.min(piece.until, until);
    }
    this.#notifyChange();
  }

  /** Awaits the promise. Meanwhile the surrounding `run` counts as waiting for virtual time. */
  async idleWhile<T>(wait: Promise<T>): Promise<T> {
    const piece = this.#current.getStore();
    if (piece === undefined) return wait;
    piece.idle = true;
    this.#notifyChange();
    try {
      return await wait;
    } finally {
      piece.idle = false;
    }
  }

  /** Awaits a promise that no clock resolves. From now on the clock ignores the surrounding `run`. */
  async idleForever<T>(wait: Promise<T>): Promise<T> {
    const piece = this.#current.getStore();
    if (piece !== undefined) this.#hung.add(piece);
    this.#notifyChange();
    return wait;
  }

  /** Whether a piece of work waits for virtual time. */
  get hasIdle(): boolean {
    return [...this.#pieces].some(({ idle }) => idle);
  }

  /** False: no work is in flight. True: work was in flight, and it has changed or its limit has passed. */
  async waitForChange(): Promise<boolean> {
    const now = hostNow();
    const held = [...this.#pieces].filter(
      (piece) => !piece.idle && piece.until > now && !this.#hung.has(piece),
    );
    if (held.length === 0) return false;
    const patience = Math.min(...held.map(({ until }) => until)) - now;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = hostSetTimeout(resolve, Math.ceil(patience));
    });
    await Promise.race([this.#changed.promise, over]);
    hostClearTimeout(timer);
    return true;
  }

  #hold(piece: Piece, work: Promise<unknown>): void {
    this.#pieces.add(piece);
    const over = (): void => {
      this.#pieces.delete(piece);
      this.#notifyChange();
    };
    work.then(over, over);
  }

  #notifyChange(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
