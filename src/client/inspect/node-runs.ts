// The runs of a flow's nodes, read from an execution's history: what each node scheduled, and its outcome.
//   - The history is enough for activities, children, events and timers; no flow definition is needed. The
//        value of a fork or a loop is not in the history: the interpreter computes it (node-values.ts).

import type { Codec } from "../../core/values/codec.ts";
import { fromFailure, openFailure, type Failure } from "../../core/errors/failure.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { projectHistory, type Call } from "../../core/history/projection.ts";
import { ActivityError, ChildError } from "../../core/errors/task-errors.ts";
import { defined } from "../../core/values/defined.ts";

export type NodeStatus = "running" | "completed" | "failed" | "cancelled";

/** One run of one node. */
export interface NodeRun {
  readonly path: string;
  readonly kind: "activity" | "child" | "event" | "timer";
  readonly name: string;
  readonly status: NodeStatus;
  readonly sequence: number;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly attempts?: number;
  /** Payload text. */
  readonly output?: string;
  readonly failure?: Failure;
}

/** In the order in which they were scheduled. */
export function nodeRuns(events: readonly HistoryEvent[]): readonly NodeRun[] {
  return [...projectHistory(events).calls.values()].flatMap(runOf);
}

/** Empty: the call does not belong to a node. */
function runOf({ kind, scheduled, outcome }: Call): readonly NodeRun[] {
  if (kind === "step" || kind === "ask" || kind === "requests" || kind === "callback") return [];
  if (!("node" in scheduled) || scheduled.node === undefined) return [];
  const { node: path, sequence, at: startedAt } = scheduled;
  const name = "name" in scheduled ? scheduled.name : "timer";
  const run = { path, kind, name, sequence, startedAt };
  if (outcome === undefined) return [{ ...run, status: "running" }];
  const { status, event, output } = outcome;
  return [
    {
      ...run,
      status,
      endedAt: event.at,
      ...("attempts" in event ? { attempts: event.attempts } : {}),
      ...defined({ output }),
      ...(status === "failed" && "failure" in event ? { failure: event.failure } : {}),
    },
  ];
}

/** Whether `path` matches `wanted`: an exact path, a path without round numbers, or a node id. */
export function matchesNode(path: string, wanted: string): boolean {
  if (path === wanted) return true;
  const plain = path.replace(/#\d+/g, "");
  return (
    plain === wanted ||
    (!wanted.includes("/") && plain.slice(plain.lastIndexOf("/") + 1) === wanted)
  );
}

/** The error that a wait for the run's result throws. */
export function failureOf(run: NodeRun, stored: Failure, codec: Codec): Error {
  const failure = openFailure(stored, codec);
  const init = { attempts: run.attempts ?? 1, failure, cause: fromFailure(failure, codec) };
  const error =
    run.kind === "child" ? new ChildError(run.name, init) : new ActivityError(run.name, init);
  return Object.assign(error, { node: run.path });
}
