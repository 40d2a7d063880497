// The stall detector: decides in the liveness thread, between two sleeps, whether to send a heartbeat.
// The thread itself (src/sqlite, src/postgres) only writes to the store.
//   - stall-detector.1: Heartbeats stop when the event loop has not turned for `stallMs`. What was
//     running is then written once to the runtime's row and to stderr. Heartbeats resume when the event
//     loop turns again. Time during which the whole process was suspended, including this thread, does
//     not count.
//   - stall-detector.2: A missing row means that another runtime declared this one dead. The detector
//     reports that. The main thread registers again.

import { GAP_INTERVALS, processMs, type BeatChannel } from "./beat-channel.ts";

/** The event loop is blocked. */
export interface Stall {
  /** For the runtime's row. */
  readonly note: string;
  /** For stderr. `console` cannot be used, because it would wait for the blocked event loop. */
  readonly line: string;
}

export class StallDetector {
  readonly #channel: BeatChannel;
  readonly #runtimeId: string;
  readonly #beatMs: number;
  readonly #stallMs: number;
  #turns: number;
  #turnedAt = processMs();
  #lastBeat = -Infinity;
  #stalled = false;
  #lateAt = 0;

  constructor(
    channel: BeatChannel,
    options: { readonly runtimeId: string; readonly beatMs: number; readonly stallMs: number },
  ) {
    this.#channel = channel;
    this.#runtimeId = options.runtimeId;
    this.#beatMs = options.beatMs;
    this.#stallMs = options.stallMs;
    this.#turns = channel.read().turns;
  }

  get stalled(): boolean {
    return this.#stalled;
  }

  /** For a thread that wakes more often than it sends heartbeats. */
  isDue(now: number): boolean {
    return now - this.#lastBeat >= this.#beatMs * 0.9;
  }

  /** Checks the event loop. Returns a stall once, when it begins (stall-detector.1). */
  observe(now: number): Stall | null {
    const { turns, entering } = this.#channel.read();
    this.#excludeSuspension(this.#channel.late, now);
    if (turns !== this.#turns) this.#turnedAt = now;
    this.#turns = turns;
    const stalledMs = now - this.#turnedAt;
    const began = stalledMs >= this.#stallMs && !this.#stalled;
    this.#stalled = stalledMs >= this.#stallMs;
    return began ? this.#stall(entering, stalledMs) : null;
  }

  /** Excludes time during which the whole process was suspended. */
  #excludeSuspension(late: BeatChannel["late"], now: number): void {
    if (late.at === this.#lateAt) return;
    this.#lateAt = late.at;
    this.#turnedAt = Math.min(this.#turnedAt + late.ms, now);
  }

  /** A heartbeat succeeded. `isThere`: the runtime's row was found (stall-detector.2). */
  beaten(now: number, isThere: boolean): void {
    const channel = this.#channel;
    channel.lost = !isThere;
    if (!isThere) channel.steadySince = 0;
    else if (channel.steadySince === 0 || now - this.#lastBeat > this.#beatMs * GAP_INTERVALS)
      channel.steadySince = now;
    this.#lastBeat = now;
    channel.lastBeat = now;
  }

  /** A heartbeat was due and failed, or was not sent. */
  missed(): void {
    this.#channel.steadySince = 0;
  }

  #stall(running: string, stalledMs: number): Stall {
    const since = Math.round(Date.now() - stalledMs);
    const name = running === "" ? "unknown code" : running;
    return {
      note: JSON.stringify({ running, since }),
      line: `perdure: the event loop has been blocked for ${Math.round(stalledMs)} ms in ${name}; runtime ${this.#runtimeId} stops its heartbeats until the loop turns again.\n`,
    };
  }
}
