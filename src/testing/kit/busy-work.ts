// Work that is under way in real time: store calls, activities and steps with their own promises.
//   BW1. Virtual time stands still while any of it is under way, so that real I/O in an activity costs no virtual
//        time; work that waits for virtual time itself (`idleWhile`) holds nothing up.
//   BW2. Patience has a bound, in real time, a piece of work: one that never ends does not stop the clock for ever.
//   BW3. It is short with code whose process has crashed: what that asks of the store is never answered.

import { AsyncLocalStorage } from "node:async_hooks";

interface Piece {
  /** Waits for virtual time. */
  idle: boolean;
  /** Virtual time no longer waits for it, from this real moment on. */
  until: number;
  /** Users' code, as opposed to a call of the store. */
  readonly isCode: boolean;
}

/** For what the code of a crashed process does without the store, so that a test finds it done. */
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

  /** Enters user code; its promise, if it returns one, is waited for. */
  run<T>(fn: () => T): T {
    const piece = { idle: false, until: hostNow() + this.#patienceMs, isCode: true };
    const result = this.#current.run(piece, fn);
    if (result instanceof Promise) this.#hold(piece, result);
    return result;
  }

  track(work: Promise<unknown>): void {
    this.#hold({ idle: false, until: hostNow() + this.#patienceMs, isCode: false }, work);
  }

  /** BW3: the code that is under way now is a crashed process's. */
  crashed(): void {
    const until = hostNow() + CRASHED_PATIENCE_MS;
    for (const piece of this.#pieces) {
      if (piece.isCode) piece.until = Math.min(piece.until, until);
    }
    this.#tell();
  }

  /** What waits for this promise inside `run` waits for virtual time. */
  async idleWhile<T>(wait: Promise<T>): Promise<T> {
    const piece = this.#current.getStore();
    if (piece === undefined) return wait;
    piece.idle = true;
    this.#tell();
    try {
      return await wait;
    } finally {
      piece.idle = false;
    }
  }

  /** What waits for this promise inside `run` waits for something that no clock brings. */
  async idleForEver<T>(wait: Promise<T>): Promise<T> {
    const piece = this.#current.getStore();
    if (piece !== undefined) this.#hung.add(piece);
    this.#tell();
    return wait;
  }

  /** Whether something waits for virtual time by itself. */
  get hasIdle(): boolean {
    return [...this.#pieces].some(({ idle }) => idle);
  }

  /** False: nothing is under way. True: something was; it has changed, or patience is over. */
  async waited(): Promise<boolean> {
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
      this.#tell();
    };
    work.then(over, over);
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
