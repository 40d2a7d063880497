// Open tasks: the calls of an execution that have no outcome yet.

import type { StepContext } from "../context/activity-context.ts";
import type {
  ActivityScheduled,
  AskSent,
  ChildScheduled,
  DetachedStarted,
  EventRaised,
  StepScheduled,
} from "../history/events.ts";
import { LazyMap } from "../collections/lazy-map.ts";
import type { RequestService } from "./requests/request-box.ts";
import type { StandardSchema } from "../values/standard-schema.ts";
import type { Scope } from "./scope.ts";

interface OpenBase {
  readonly sequence: number;
  readonly scope: Scope;
  readonly name: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}
export interface OpenActivity extends OpenBase {
  readonly kind: "activity";
  readonly body: ActivityScheduled;
  /** The end of `scheduleToClose`; null: see `DeadlineAlarm.deadlineOf`. */
  readonly deadline: number | null;
}
export interface OpenTimer extends OpenBase {
  readonly kind: "timer";
  readonly due: number;
}
export interface OpenWait extends OpenBase {
  readonly kind: "event";
  readonly details: string | undefined;
  /** Checks the events that the wait may receive (received.4). */
  readonly schema: StandardSchema | undefined;
  /** Set for a callback. */
  readonly callback?: {
    readonly requestId: string;
    /** Called before the wait resolves, if the value has headers. */
    readonly onHeaders: (headers: Readonly<Record<string, string>>) => void;
  };
}
export interface OpenChild extends OpenBase {
  readonly kind: "child";
  readonly body: ChildScheduled;
}
export interface OpenStep extends OpenBase {
  readonly kind: "step";
  readonly body: StepScheduled;
  readonly fn: (context: StepContext) => unknown;
  /** The function of `ctx.tx`; it replaces `fn`. */
  readonly inTransaction?: (transaction: unknown) => unknown;
  /** The number of failed attempts. */
  failures: number;
  /** The event of the last failed attempt; 0: no attempt has failed. */
  failedAt: number;
  /** When the next attempt may start, by the store's clock. */
  dueAt: number;
  /** Whether an attempt is running in this process. */
  isRunning: boolean;
}
/** A loop or a handler for requests. It stays open until the code or a cancel closes it. */
export interface OpenRequests extends OpenBase {
  readonly kind: "requests";
  readonly service: RequestService;
}
/** A request to another instance that has no answer yet. */
export interface OpenAsk extends OpenBase {
  readonly kind: "ask";
  readonly body: AskSent;
}
/** An event or a detached start whose result is not known yet. */
export interface OpenSend extends OpenBase {
  readonly kind: "send";
  readonly body: EventRaised | DetachedStarted;
  /** Whether the code uses the task of the call. If not, a failure is logged. */
  readonly isObserved: () => boolean;
}
export type OpenTask =
  OpenActivity | OpenTimer | OpenWait | OpenChild | OpenStep | OpenRequests | OpenAsk | OpenSend;

/** The open tasks of a run, by sequence. It counts steps, so that a turn without steps does not search for them. */
export class OpenTasks extends LazyMap<number, OpenTask> {
  #steps = 0;

  get hasSteps(): boolean {
    return this.#steps > 0;
  }

  add(task: OpenTask): void {
    if (task.kind === "step") this.#steps++;
    this.set(task.sequence, task);
  }

  override delete(sequence: number): boolean {
    if (this.#steps > 0 && this.get(sequence)?.kind === "step") this.#steps--;
    return super.delete(sequence);
  }
}
