// What the history of an execution says about the nodes of a flow: what each asked for, and what came of it.
//   NR1. Told from history alone: whoever looks needs no definition. That is enough for steps, children and signals;
//        what a fork or a loop gives is worked out by the interpreter and not written down (node-values.ts).

import type { Codec } from "../core/codec.ts";
import { fromFailure, openFailure, type Failure } from "../core/failure.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { Mailbox } from "../core/mailbox.ts";
import { ActivityError, ChildError } from "../core/task-errors.ts";

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

type Open = { -readonly [K in keyof NodeRun]: NodeRun[K] };

const KINDS = {
  ActivityScheduled: "activity",
  ChildScheduled: "child",
  EventSubscribed: "event",
  TimerCreated: "timer",
} as const;

/** In the order in which they were asked for. */
export function nodeRuns(events: readonly HistoryEvent[]): readonly NodeRun[] {
  const runs = new Map<number, Open>();
  const mailbox = new Mailbox<{ readonly sequence: number }>();
  const waits = new Map<number, { readonly sequence: number; readonly name: string }>();
  const end = (sequence: number, at: number, outcome: Partial<NodeRun>): void => {
    const run = runs.get(sequence);
    if (run !== undefined) Object.assign(run, outcome, { endedAt: at });
  };
  for (const event of events) {
    const { sequence, at } = event;
    switch (event.kind) {
      case "ActivityScheduled":
      case "ChildScheduled":
      case "EventSubscribed":
      case "TimerCreated": {
        const { node: path } = event;
        const name = event.kind === "TimerCreated" ? "timer" : event.name;
        const kind = KINDS[event.kind];
        if (path !== undefined) {
          runs.set(sequence, { path, kind, name, status: "running", sequence, startedAt: at });
        }
        if (event.kind !== "EventSubscribed") break;
        const unread = event.since === "now" ? null : mailbox.take(name);
        const wait = { sequence, name };
        waits.set(sequence, wait);
        if (unread === null) mailbox.wait(name, wait);
        else end(sequence, at, { status: "completed", output: unread.data });
        break;
      }
      case "EventReceived": {
        const wait = mailbox.offer({ name: event.name, data: event.data, key: null });
        if (wait !== null) end(wait.sequence, at, { status: "completed", output: event.data });
        break;
      }
      case "ActivityCompleted":
      case "ChildCompleted": {
        const attempts = "attempts" in event ? { attempts: event.attempts } : {};
        end(event.scheduled, at, { status: "completed", output: event.output, ...attempts });
        break;
      }
      case "ActivityFailed":
      case "ChildFailed": {
        const attempts = "attempts" in event ? { attempts: event.attempts } : {};
        end(event.scheduled, at, { status: "failed", failure: event.failure, ...attempts });
        break;
      }
      case "TimerFired":
        end(event.scheduled, at, { status: "completed" });
        break;
      case "ActivityCancelRequested":
      case "ChildCancelRequested":
      case "TimerCancelled":
        end(event.scheduled, at, { status: "cancelled" });
        break;
      case "EventSubscriptionCancelled": {
        const wait = waits.get(event.scheduled);
        if (wait !== undefined) mailbox.forget(wait.name, wait);
        end(event.scheduled, at, { status: "cancelled" });
        break;
      }
      default:
    }
  }
  return [...runs.values()];
}

/** Whether what ran at a path is meant by what somebody asks for: a path, one without rounds, or a plain id. */
export function isMeant(path: string, asked: string): boolean {
  if (path === asked) return true;
  const plain = path.replace(/#\d+/g, "");
  return (
    plain === asked || (!asked.includes("/") && plain.slice(plain.lastIndexOf("/") + 1) === asked)
  );
}

/** What whoever waits for a run's result is told. */
export function failureOf(run: NodeRun, stored: Failure, codec: Codec): Error {
  const failure = openFailure(stored, codec);
  const init = { attempts: run.attempts ?? 1, failure, cause: fromFailure(failure, codec) };
  const error =
    run.kind === "child" ? new ChildError(run.name, init) : new ActivityError(run.name, init);
  return Object.assign(error, { node: run.path });
}
