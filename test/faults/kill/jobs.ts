// Jobs: the inputs of the orchestrations under test, and their right results, computed without the engine.

import type { Outcome } from "./audit/ack-log.ts";

export const KINDS = [
  "linear",
  "parallel",
  "steps",
  "timers",
  "mailbox",
  "family",
  "rounds",
  "stubborn",
  "flow",
  "doomed",
] as const;
export type JobKind = (typeof KINDS)[number];

export interface Job {
  readonly seed: number;
  /** How long one activity or step takes, in milliseconds. */
  readonly ms: number;
}

/** How many events a job of that kind waits for; the driver raises exactly `eventOf(job, 0)`, `eventOf(job, 1)`, … */
export const EVENTS_OF: Readonly<Record<JobKind, number>> = {
  linear: 0,
  parallel: 0,
  steps: 0,
  timers: 0,
  mailbox: 3,
  family: 0,
  rounds: 3,
  stubborn: 0,
  flow: 1,
  doomed: 0,
};

/** The driver cancels jobs of this kind, which would otherwise wait forever. */
export const CANCELLED_KIND: JobKind = "doomed";

/** How many iterations the flow's loop has: more events than fit into one execution. */
export const FLOW_ROUNDS = 6;

/** Derives a job from one number, for callers that can only pass a number. */
export function jobOf(seed: number): Job {
  return { seed, ms: 5 + (seed % 7) * 8 };
}

export function eventOf(job: Job, index: number): number {
  return mix(job.seed, 100 + index);
}

/** The work itself: the result depends on the order of calls and on every argument. */
export function mix(value: number, salt: number): number {
  return (Math.imul(value ^ (salt + 0x9e3779b9), 0x85ebca6b) >>> 7) + salt;
}

/** The right outcome of a job of that kind: a value, or an error code. */
export function outcomeOf(kind: JobKind, job: Job): Outcome {
  return kind === CANCELLED_KIND ? { error: "CANCELLED" } : { value: resultOf(kind, job) };
}

function resultOf(kind: JobKind, job: Job): unknown {
  const { seed } = job;
  switch (kind) {
    case "linear":
      return chain(seed, 4);
    case "parallel":
      return mix(sum([0, 1, 2, 3, 4].map((branch) => mix(seed, branch))), 5);
    case "steps":
      return [chain(seed, 3), mix(seed, 10), mix(seed, 11), mix(seed, 12)];
    case "timers":
      return ["short", chain(seed, 2)];
    case "mailbox":
      return { heard: events(job), value: events(job).reduce(mix, seed) };
    case "family":
      return [0, 1, 2].map((child) => chain(mix(seed, child), 4));
    case "rounds":
      return { heard: events(job), value: chain(seed, 3) };
    case "stubborn":
      return { value: mix(mix(seed, 0), 1), refused: "no such thing" };
    case "flow": {
      const begun = sum([0, 1, 2, 3].map((salt) => mix(seed, salt)));
      return { heard: eventOf(job, 0), value: chain(begun, FLOW_ROUNDS) };
    }
    case "doomed":
      return undefined;
  }
}

function chain(seed: number, links: number): number {
  return Array.from({ length: links }, (_, link) => link).reduce(mix, seed);
}

function events(job: Job): number[] {
  return [0, 1, 2].map((index) => eventOf(job, index));
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
