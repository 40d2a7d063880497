// What an interpreter of flows asks of its run: the calls of a context, each with the node that makes it, and the
// state that it carries from one execution to the next.
//   NC1. Nothing here decides anything: a call is recorded, matched and cancelled like any other of its kind.
//   NC2. The state travels beside the user's input, never inside it: a restart begins with the input alone.

import { firstOutcome } from "./combinators.ts";
import { childBody, type AnyOrchestration } from "./call-bodies.ts";
import { runOf } from "./context-run.ts";
import type { CallOptions, OrchestrationContext, Task } from "./context-types.ts";
import type { ActivityOptions, NodeMetadata } from "./history-events.ts";
import { callActivity, callChild, callEvent, callTimer } from "./run-calls.ts";
import { decode } from "./run-delivery.ts";
import type { Run } from "./run.ts";

export interface NodeActivity {
  readonly name: string;
  readonly options: ActivityOptions;
  readonly metadata?: NodeMetadata;
}
/** A length of time, or a moment. */
export type Until = { readonly delayMs: number } | { readonly due: number };
export type Waited =
  { readonly kind: "event"; readonly value: unknown } | { readonly kind: "timeout" };

export class NodeCalls {
  readonly #run: Run;

  constructor(context: OrchestrationContext) {
    this.#run = runOf(context);
  }

  /** Events up to the one last delivered. */
  get events(): number {
    return this.#run.delivered;
  }
  /** Bytes of the rows before the one that holds it. */
  get bytes(): number {
    return this.#run.bytes;
  }
  get at(): number {
    return this.#run.at;
  }
  get isCancelled(): boolean {
    return this.#run.cancelReason !== null;
  }

  /** What the execution before handed on; undefined in a first one. Null: it cannot be read, and the run is blocked. */
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
    const due = "due" in until ? until.due : this.#run.at + until.delayMs;
    const delay = "due" in until ? {} : { delayMs: until.delayMs };
    return callTimer(this.#run, { kind: "TimerCreated", due, ...delay, node });
  }

  /** The next message of that name, or the end of the time given. Not open: it lay in the mailbox and is taken. */
  wait(
    node: string,
    name: string,
    until: Until | null,
  ): { readonly task: Task<Waited>; readonly isOpen: boolean } {
    const run = this.#run;
    const event = callEvent(run, { kind: "EventSubscribed", name, node });
    const received = (value: unknown): Waited => ({ kind: "event", value });
    const isOpen = run.open.has(run.lastSequence);
    // A timer beside a message that is there already would be made for nothing.
    if (until === null || !isOpen) return { task: event.map(received), isOpen };
    const task = firstOutcome(run, [event, this.sleep(node, until)]).map(
      ({ index, value }): Waited => (index === 0 ? received(value) : { kind: "timeout" }),
    );
    return { task, isOpen };
  }

  child(
    node: string,
    target: AnyOrchestration,
    input: unknown,
    options: CallOptions,
  ): Task<unknown> {
    return callChild(this.#run, { ...childBody(this.#run, target, input, options), node });
  }

  encode(state: unknown): string {
    return this.#run.codec.encode(state);
  }

  /** Ends this execution; the next one of the same version begins with the user's input and this state. */
  continueWith(state: string): void {
    const run = this.#run;
    run.enter();
    const { input, orchestrationVersion: version } = run.started;
    if (!run.isOver) run.continuation ??= { input, version, state };
  }

  /** Told to whoever replays a history for the values that its nodes gave. */
  ended(node: string, value: unknown): void {
    this.#run.options.onNodeEnd?.(node, value);
  }
}
