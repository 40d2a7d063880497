// Pulse: what the heart's thread makes of the board between two sleeps; its file beside the provider only writes.
//   T1. It stops beating when the loop has not turned, or no outstanding call has returned, for `stallMs`; it
//       then notes what was running, once, in the runtime's row and on stderr. It resumes with the loop.
//       Time for which the whole process stood still, this thread included, is not the loop's: it does not count.
//   T2. A row that is gone means that somebody declared the runtime dead; that is told, never mended here.

import { GAP_INTERVALS, processMs, type HeartBoard } from "./heart-board.ts";

/** The main loop stands still. */
export interface Stall {
  /** For the runtime's row. */
  readonly note: string;
  /** For stderr, and not by console: that would wait for the very loop that stands still. */
  readonly line: string;
}

export class Pulse {
  readonly #board: HeartBoard;
  readonly #runtimeId: string;
  readonly #beatMs: number;
  readonly #stallMs: number;
  #seen: ReturnType<HeartBoard["read"]>;
  #turnedAt = processMs();
  #calledAt = processMs();
  #lastBeat = -Infinity;
  #stalled = false;
  #lateAt = 0;

  constructor(
    board: HeartBoard,
    options: { readonly runtimeId: string; readonly beatMs: number; readonly stallMs: number },
  ) {
    this.#board = board;
    this.#runtimeId = options.runtimeId;
    this.#beatMs = options.beatMs;
    this.#stallMs = options.stallMs;
    this.#seen = board.read();
  }

  get stalled(): boolean {
    return this.#stalled;
  }

  /** For a thread that wakes more often than it beats. */
  isDue(now: number): boolean {
    return now - this.#lastBeat >= this.#beatMs * 0.9;
  }

  /** Looks at the main loop; a stall is told when it begins (T1). */
  observe(now: number): Stall | null {
    const seen = this.#seen;
    const { turns, callsOpen, callsEnded, entering } = this.#board.read();
    this.#leaveOut(this.#board.late, now);
    if (turns !== seen.turns) this.#turnedAt = now;
    if (callsOpen === 0 || callsEnded !== seen.callsEnded || seen.callsOpen === 0)
      this.#calledAt = now;
    this.#seen = { turns, callsOpen, callsEnded, entering };
    const since = Math.min(this.#turnedAt, this.#calledAt);
    const began = now - since >= this.#stallMs && !this.#stalled;
    this.#stalled = now - since >= this.#stallMs;
    if (!began) return null;
    const running = this.#turnedAt <= this.#calledAt ? entering : "a call to the store";
    return this.#stall(running, now - since);
  }

  /** Time for which the whole process stood still. */
  #leaveOut(late: HeartBoard["late"], now: number): void {
    if (late.at === this.#lateAt) return;
    this.#lateAt = late.at;
    this.#turnedAt = Math.min(this.#turnedAt + late.ms, now);
    this.#calledAt = Math.min(this.#calledAt + late.ms, now);
  }

  /** A beat went through; `isThere`: the runtime's row was found (T2). */
  beaten(now: number, isThere: boolean): void {
    const board = this.#board;
    board.lost = !isThere;
    if (!isThere) board.steadySince = 0;
    else if (board.steadySince === 0 || now - this.#lastBeat > this.#beatMs * GAP_INTERVALS)
      board.steadySince = now;
    this.#lastBeat = now;
    board.lastBeat = now;
  }

  /** A beat was due and did not go through, or was not sent. */
  missed(): void {
    this.#board.steadySince = 0;
  }

  #stall(running: string, stalledMs: number): Stall {
    const since = Math.round(Date.now() - stalledMs);
    const name = running === "" ? "unknown work" : running;
    return {
      note: JSON.stringify({ running, since }),
      line: `perdure: the event loop has stood still for ${Math.round(stalledMs)} ms in ${name}; runtime ${this.#runtimeId} stops beating until it turns again.\n`,
    };
  }
}
