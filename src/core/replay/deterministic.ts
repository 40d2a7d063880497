// Deterministic randomness: `ctx.random()` and `ctx.uuid()` return the same values in every replay.
//   - A result depends only on (seed, sequence, call): the 128-bit seed of the execution in lower-case hex,
//       the sequence number of the last delivered event, and the number of the call since that event
//       (semantics 8). The seed of the next execution derives from the seed of the previous one
//       (docs/decisions/0017).
//   - deterministic.1: User code has acted on these values, so they must never change. A new algorithm needs
//       a new label, chosen by the version that wrote the start event.
//   - deterministic.2: Each kind has a separate label, so that a uuid reveals nothing about a random number.

import { hash } from "node:crypto";

/** A number in [0, 1) with 53 random bits, as many as a number can hold. */
export function deterministicRandom(seed: string, sequence: number, call: number): number {
  const digest = digestOf("random", seed, sequence, call);
  // 13 digits are 52 bits; the 53rd bit is the top bit of the 14th digit. Every step is exact.
  const high = Number.parseInt(digest.slice(0, 13), 16);
  const low = Number.parseInt(digest.slice(13, 14), 16) >>> 3;
  return (high * 2 + low) / 2 ** 53;
}

/** A valid version 4 uuid: 122 bits of the digest, and the six bits that the standard fixes. */
export function deterministicUuid(seed: string, sequence: number, call: number): string {
  const digest = digestOf("uuid", seed, sequence, call);
  const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `4${digest.slice(13, 16)}`,
    `${variant}${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join("-");
}

/** The seed of the next execution, so that a loop with `continueAsNew` does not get the same values again. */
export function nextSeed(seed: string): string {
  return hash("sha256", `perdure.seed.1:${seed}`, "hex").slice(0, 32);
}

/** The seed is hex and the others are integers, so ":" separates them unambiguously. */
function digestOf(kind: "random" | "uuid", seed: string, sequence: number, call: number): string {
  return hash("sha256", `perdure.${kind}.1:${seed}:${sequence}:${call}`, "hex");
}
