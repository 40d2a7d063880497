// Deterministic chance: what `ctx.random()` and `ctx.uuid()` return, now and at every replay.
//   X1. The result depends on (seed, sequence, call) alone: the execution's 128-bit seed in lower-case hex,
//       the sequence of the event last delivered, and the number of the call since it (rule 8). Each execution of
//       an instance has a seed that follows from the one before (decision 0017).
//   X2. Stored behaviour: user code has acted on these values, so they must never change. Another
//       algorithm would need another label, chosen by the version that wrote the start event.
//   X3. Each kind has a label of its own, so that a uuid tells nothing about a random number.

import { hash } from "node:crypto";

/** In [0, 1), with all of the 53 bits that a number can hold. */
export function deterministicRandom(seed: string, sequence: number, call: number): number {
  const digest = digestOf("random", seed, sequence, call);
  // 13 digits are 52 bits; the 53rd is the top bit of the 14th. Every step of this is exact.
  const high = Number.parseInt(digest.slice(0, 13), 16);
  const low = Number.parseInt(digest.slice(13, 14), 16) >>> 3;
  return (high * 2 + low) / 2 ** 53;
}

/** A valid version 4 uuid: 122 bits of the digest, and the six that the standard fixes. */
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

/** What the next execution begins with, so that a loop which continues as new does not draw the same again. */
export function nextSeed(seed: string): string {
  return hash("sha256", `perdure.seed.1:${seed}`, "hex").slice(0, 32);
}

/** The seed is hex and the rest are integers, so that ":" keeps them apart. */
function digestOf(kind: "random" | "uuid", seed: string, sequence: number, call: number): string {
  return hash("sha256", `perdure.${kind}.1:${seed}:${sequence}:${call}`, "hex");
}
