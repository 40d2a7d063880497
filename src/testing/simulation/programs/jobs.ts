// Jobs: a root instance and the calls of its client, as data.

import type { RootInput } from "./interpreter.ts";
import {
  partsOf,
  smallerPrograms,
  type EventNode,
  type Program,
  type RequestData,
} from "./program.ts";

/** A call of the client at a planned time, other than the start. */
export type Control =
  | {
      readonly kind: "raise";
      readonly atMs: number;
      readonly name: string;
      readonly value: number;
      /** If set, the event data is a text of this size. */
      readonly bytes?: number;
    }
  | { readonly kind: "pause" | "resume" | "cancel" | "terminate"; readonly atMs: number }
  /** Asks the instance, which is a server. */
  | { readonly kind: "ask"; readonly atMs: number; readonly request: RequestData };

/** A client that makes calls from outside with the tokens of one callback or activity, one after another. */
export interface Caller {
  readonly key: string;
  readonly slot: number;
  readonly calls: readonly OutsideCall[];
}
export interface OutsideCall {
  readonly kind: "complete" | "fail" | "heartbeat";
  /** The time between the previous call, or the first token, and this call. */
  readonly afterMs: number;
  /** Unique: the value of a completion. */
  readonly value: string;
  /** Which of the tokens that were handed out so far. */
  readonly token: "first" | "newest";
}

export interface Job {
  readonly id: string;
  readonly slot: number;
  readonly startAtMs: number;
  readonly delayMs: number | null;
  readonly priority: number;
  /** Null: the newest version in the process that runs the first turn. */
  readonly version: string | null;
  readonly input: RootInput;
  /** Sorted by time. */
  readonly controls: readonly Control[];
  /** The number of first events that are sent before the instance exists ("kept"), or with its start. */
  readonly ahead: { readonly count: number; readonly how: "kept" | "started" } | null;
  /** The client starts the instance twice. The second start must fail, or return the existing instance. */
  readonly startsTwice: "fail" | "useExisting" | null;
  /** Whether the client waits for the result. */
  readonly awaits: boolean;
  /** Whether the client restarts the instance after its end. */
  readonly restarts: boolean;
  /** Other clients, which complete the callbacks of the instance. Absent: there are none. */
  readonly callers?: readonly Caller[];
}

/** The waits for client events in a program. */
export function eventsIn(program: Program): EventNode[] {
  if (program.op === "events" || program.op === "mailbox") return [program];
  if (program.op === "child" || program.op === "detached") return [];
  return partsOf(program).flatMap(eventsIn);
}

/** Whether the instance of the job answers requests until an operator ends it. */
export function isServer({ input }: Job): boolean {
  return input.rounds.some(({ op }) => op === "serve");
}

/** Smaller jobs, for the minimizer. */
export function* smallerJobs(job: Job): Iterable<Job> {
  const { input, controls } = job;
  const withRounds = (rounds: readonly Program[]): Job => {
    const names = new Set(rounds.flatMap(eventsIn).map(({ name }) => name));
    const left = controls.filter((control) => control.kind !== "raise" || names.has(control.name));
    return { ...job, input: { ...input, rounds }, controls: left };
  };
  for (const [index, round] of input.rounds.entries()) {
    if (input.rounds.length > 1) yield withRounds(input.rounds.toSpliced(index, 1));
    for (const smaller of smallerPrograms(round))
      yield withRounds(input.rounds.with(index, smaller));
  }
  const { callers = [] } = job;
  for (const index of callers.keys()) yield { ...job, callers: callers.toSpliced(index, 1) };
  const others = controls.filter(({ kind }) => kind === "raise");
  if (others.length < controls.length) yield { ...job, controls: others };
  if (input.undo.length > 0) yield { ...job, input: { ...input, undo: [] } };
  if (job.ahead !== null) yield { ...job, ahead: null };
  if (job.startsTwice !== null) yield { ...job, startsTwice: null };
  if (job.awaits) yield { ...job, awaits: false };
  if (job.restarts) yield { ...job, restarts: false };
  if (job.delayMs !== null) yield { ...job, delayMs: null };
  if (job.startAtMs > 0) yield { ...job, startAtMs: 0 };
}
