// The load of W14, for Perdure and for the peers: tokens that writers write at a fixed rate, and the times of their reads.
//   - A token carries the time of its write. Reader and writer may be two processes of one machine.
//   - A writer that is late writes at once until it has caught up, so a stall does not lower the load.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { quantile } from "./statistics.ts";
import type { Reading } from "./subject.ts";

export interface Token {
  readonly text: string;
  /** By the clock of `machineMs`. */
  readonly at: number;
}

const TEXT = "durable ";
export const TOKEN_EVERY_MS = 20;

/** A monotonic clock that all processes of the machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Writes a token every 20 ms while `isNext` returns true for it, and returns their number. `phase` delays the first
 * token by a share of these 20 ms.
 */
export async function writeTokens(
  phase: number,
  isNext: (index: number, dueAt: number) => boolean,
  write: (token: Token) => Promise<void>,
): Promise<number> {
  const begun = machineMs() + phase * TOKEN_EVERY_MS;
  for (let index = 0; ; index++) {
    const dueAt = begun + index * TOKEN_EVERY_MS;
    if (!isNext(index, dueAt)) return index;
    const waitMs = dueAt - machineMs();
    if (waitMs > 0) await pause(waitMs);
    await write({ text: TEXT, at: machineMs() });
  }
}

/**
 * The times of tokens that were written in a period, without the first tokens of each stream. The period may be set
 * while tokens are read.
 */
export class TokenTimes {
  /** Tokens written from then on are counted… */
  from: number;
  /** …until then. */
  until: number;
  readonly #skip: number;
  readonly #latencies: number[] = [];
  #readInPeriod = 0;
  #firstWrite = Infinity;
  #lastRead = -Infinity;

  constructor({ from = -Infinity, until = Infinity, skip = 0 } = {}) {
    this.#skip = skip;
    this.from = from;
    this.until = until;
  }

  /** A reader has got the token at this position of its stream. */
  add({ text, at }: Token, position: number): void {
    assert.equal(text, TEXT, "a reader gets what was written");
    if (position < this.#skip) return;
    const now = machineMs();
    if (now >= this.from && now < this.until) this.#readInPeriod++;
    if (at < this.from || at >= this.until) return;
    this.#latencies.push(now - at);
    this.#firstWrite = Math.min(this.#firstWrite, at);
    this.#lastRead = Math.max(this.#lastRead, now);
  }

  /** From write to read. */
  latencies(n: number): readonly Reading[] {
    return [
      { metric: "p50Ms", value: quantile(this.#latencies, 0.5), n },
      { metric: "p99Ms", value: quantile(this.#latencies, 0.99), n },
    ];
  }

  /** Tokens read per second of the period. */
  get ratePerS(): number {
    return (this.#readInPeriod / (this.until - this.from)) * 1_000;
  }

  /** Tokens per second from the first counted write to the last read. */
  get reachedPerS(): number {
    return (this.#latencies.length / (this.#lastRead - this.#firstWrite)) * 1_000;
  }
}
