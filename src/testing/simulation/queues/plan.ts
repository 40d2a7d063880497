// The plan of queued jobs, as data: the queues of a run, and the calls of its clients.
//   - Every call has a unique value, which is part of the job's input. So each run of a job shows which call it serves.

import type { QueueRule } from "../../../core/provider/queues.ts";

/** A job of the run. */
export interface PlannedQueue {
  readonly name: string;
  /** Null: the job has neither limits nor fair order. */
  readonly rule: QueueRule | null;
  /** More than any call fails, unless it always fails. */
  readonly attempts: number;
}

/** The input of a job. */
export interface JobInput {
  readonly value: string;
  readonly ms: number;
  /** The number of attempts that fail before one succeeds. `ALWAYS`: all. */
  readonly fails: number;
}
export const ALWAYS = 1_000;

/** Which calls belong together, as in the options of `client.enqueue`. */
export type CallRule =
  | {
      readonly kind: "unique";
      readonly key: string;
      readonly onConflict: "useExisting" | "fail" | "replace";
    }
  | {
      readonly kind: "debounce";
      readonly key: string;
      readonly waitMs: number;
      readonly maxMs: number | null;
    }
  | {
      readonly kind: "throttle";
      readonly key: string;
      readonly perMs: number;
      readonly trailing: boolean;
    };

/** One call of a job. */
export interface PlannedCall extends JobInput {
  readonly queue: string;
  /** The key for limits and fair order. */
  readonly key: string;
}
export type Step =
  | (PlannedCall & {
      readonly kind: "enqueue";
      readonly atMs: number;
      readonly delayMs: number;
      readonly priority: number;
      readonly rule: CallRule | null;
      /** The client knows only the name of the job. */
      readonly isByName: boolean;
      /** Null: the client does not cancel the job. */
      readonly cancelAfterMs: number | null;
    })
  | { readonly kind: "enqueueMany"; readonly atMs: number; readonly calls: readonly PlannedCall[] }
  /** Starts an orchestration that makes these calls at the same time. */
  | {
      readonly kind: "start";
      readonly atMs: number;
      readonly id: string;
      readonly calls: readonly PlannedCall[];
    }
  | {
      readonly kind: "pauseQueue" | "resumeQueue";
      readonly atMs: number;
      readonly queue: string;
    };

/** The calls of one client, sorted by time. */
export interface QueueClient {
  readonly slot: number;
  readonly steps: readonly Step[];
}
/** The jobs of one run, and the clients that call them. */
export interface QueuesPlan {
  readonly queues: readonly PlannedQueue[];
  readonly clients: readonly QueueClient[];
}

/** All jobs that the plan calls, without repetitions of calls whose answer is not known. */
export function callsOf({ clients }: QueuesPlan): readonly PlannedCall[] {
  return clients.flatMap(({ steps }) =>
    steps.flatMap((step) => {
      if (step.kind === "enqueue") return [step];
      return "calls" in step ? step.calls : [];
    }),
  );
}

/** Smaller plans, for the minimizer. */
export function* smallerPlans(plan: QueuesPlan): Iterable<QueuesPlan> {
  const { queues, clients } = plan;
  for (const index of clients.keys()) {
    if (clients.length > 1) yield { queues, clients: clients.toSpliced(index, 1) };
  }
  for (const [index, client] of clients.entries()) {
    for (const [at, step] of client.steps.entries()) {
      if (step.kind === "resumeQueue") continue; // a queue must not stay paused
      const isPause = step.kind === "pauseQueue";
      const steps = client.steps.filter(
        (each, place) => place !== at && !(isPause && each.kind === "resumeQueue"),
      );
      yield { queues, clients: clients.with(index, { ...client, steps }) };
    }
  }
}
