// Node calls: the calls that the interpreter of flows makes on its run. Each call carries the path of its
// node.
//   - These calls have no rules of their own: each is recorded, compared and cancelled like any other call of
//       its kind.
//   - The interpreter carries a state from one execution to the next. The state is stored separately from the
//       user's input, so that a restart starts with the input only.

import { firstOutcome } from "./combinators.ts";
import { childBody, type AnyOrchestration } from "./call-bodies.ts";
import { runOf } from "./orchestration-context.ts";
import type { CallOptions, OrchestrationContext, Task } from "./types.ts";
import type { ActivityOptions, NodeMetadata } from "../history/events.ts";
import { callActivity, callChild, callEvent, callTimer } from "../replay/calls.ts";
import { decode } from "../replay/delivery.ts";
import type { Run } from "../replay/run.ts";

export interface NodeActivity {
  readonly name: string;
  readonly options: ActivityOptions;
  readonly metadata?: NodeMetadata;
}
/** A duration, or a point in time. */
export type Until = { readonly delayMs: number } | { readonly due: number };
export type WaitOutcome =
  { readonly kind: "event"; readonly value: unknown } | { readonly kind: "timeout" };

export class NodeCalls {
  readonly #run: Run;

  constructor(context: OrchestrationContext) {
    this.#run = runOf(context);
  }

  /** The number of events up to the last delivered one. */
  get events(): number {
    return this.#run.deliveredSequence;
  }
  /** The bytes of the rows before the row of that event. */
  get bytes(): number {
    return this.#run.historyBytes;
  }
  get at(): number {
    return this.#run.eventTime;
  }
  get isCancelled(): boolean {
    return this.#run.cancelReason !== null;
  }

  /**
   * The state of the previous execution; undefined in the first execution. Null if it cannot be read, and the
   * run is blocked.
   */
  state(): { readonly decoded: unknown } | null | undefined {
    const { state } = this.#run.started;
    return state === undefined ? undefined : decode(this.#run, state);
  }

  run(node: string, activity: NodeActivity, input: unknown): Task<unknown> {
    const { name, options, metadata } = activity;
    return callActivity(this.#run, {
      kind: "ActivityScheduled",
      name,
      input: this.#run.codec.encode(input),
      ...options,
      node,
      ...(metadata === undefined ? {} : { metadata }),
    });
  }

  sleep(node: string, until: Until): Task<unknown> {
    const due = "due" in until ? until.due : this.#run.eventTime + until.delayMs;
    const delay = "due" in until ? {} : { delayMs: until.delayMs };
    return callTimer(this.#run, { kind: "TimerCreated", due, ...delay, node });
  }

  /**
   * Waits for the next event of that name, or for the timeout. `isOpen` is false if an unread event was
   * there.
   */
  wait(
    node: string,
    name: string,
    until: Until | null,
  ): { readonly task: Task<WaitOutcome>; readonly isOpen: boolean } {
    const run = this.#run;
    const event = callEvent(run, { kind: "EventSubscribed", name, node });
    const received = (value: unknown): WaitOutcome => ({ kind: "event", value });
    const isOpen = run.openTasks.has(run.lastSequence);
    // The event is already there: it needs no timer.
    if (until === null || !isOpen) return { task: event.map(received), isOpen };
    const task = firstOutcome(run, [event, this.sleep(node, until)]).map(
      ({ index, value }): WaitOutcome => (index === 0 ? received(value) : { kind: "timeout" }),
    );
    return { task, isOpen };
  }

  child(
    node: string,
    target: AnyOrchestration,
    input: unknown,
    options: CallOptions,
  ): Task<unknown> {
    return callChild(this.#run, childBody(this.#run, target, input, options, { node }));
  }

  encode(state: unknown): string {
    return this.#run.codec.encode(state);
  }

  /** Ends this execution. The next one, of the same version, starts with the user's input and this state. */
  continueWith(state: string): void {
    const run = this.#run;
    run.currentScope();
    const { input, orchestrationVersion: version } = run.started;
    if (!run.isOver) run.continuation ??= { input, version, state };
  }

  /** Reports the value of a node to a replay that collects these values. */
  reportNodeEnd(node: string, value: unknown): void {
    this.#run.options.onNodeEnd?.(node, value);
  }
}
