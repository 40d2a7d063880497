// Effects: the writes that a turn's events need in addition to the events themselves: tasks, timers, starts,
// messages.
//   - Effects depend only on events, so that a turn of a cached run and a turn after a replay commit the same
//       (I5).
//   - A task that is scheduled and cancelled in one turn is recorded and never executed (semantics 7).

import { inheritedMembers, type Inherited } from "../context/start-context.ts";
import type { StoredAttributes } from "../define/attributes.ts";
import { LazyMap } from "../collections/lazy-map.ts";
import type {
  ActivityScheduled,
  AskSent,
  ChildScheduled,
  CommandBody,
  EventBody,
  OrchestrationCancelRequested,
  OrchestrationStarted,
  ParentLink,
} from "../history/events.ts";
import type { Dispatch, NewAnswer } from "../provider/asks.ts";
import type { CallbackChange } from "../provider/callbacks.ts";
import type { ChildStart } from "../provider/commit.ts";
import type { NewTimer, OutgoingMessage, TimerReference } from "../provider/messages.ts";
import type { KeyValueChange, StateChange } from "../provider/state.ts";
import { PUBLISHED_KEY, type PublishedState } from "./requests/published-state.ts";
import { askRequestId, derivedId, dispatchOf, hushUnused } from "./outgoing-calls.ts";
import type { Run } from "./run.ts";

export function cancelRequest(reason: string, by?: string): OrchestrationCancelRequested {
  return { kind: "OrchestrationCancelRequested", reason, ...(by === undefined ? {} : { by }) };
}

export interface ScheduledActivity {
  readonly sequence: number;
  readonly body: ActivityScheduled;
}

/** The execution that causes the effects. */
export interface EffectSource {
  readonly instanceId: string;
  readonly runId: string;
  readonly execution: number;
  readonly priority: number;
  /** When the execution began. */
  readonly startedAt: number;
  /** Passed on to the instances that it starts. */
  readonly started: Inherited;
}

/** A StreamWrite while the turn runs. */
interface TurnStream {
  readonly name: string;
  readonly values: string[];
  closes?: true;
}

export class TurnEffects {
  readonly activities = new LazyMap<number, ScheduledActivity>();
  readonly cancelledTasks: number[] = [];
  readonly timers = new LazyMap<string, NewTimer>();
  readonly cancelledTimers: TimerReference[] = [];
  readonly starts = new LazyMap<number, ChildStart>();
  readonly sends: OutgoingMessage[] = [];
  /** Null: none, as in most turns. */
  answers: NewAnswer[] | null = null;
  /** What the turn does to its callbacks. Null: nothing, as in most turns. */
  callbacks: CallbackChange[] | null = null;
  /** The state of an entity after the turn (published-state.ts). Null: unchanged. */
  published: PublishedState | null = null;
  /** By the sequence number of the command. Null: none. */
  dispatched: Map<number, Dispatch> | null = null;
  /** What the code writes to its streams, by name. Null: nothing. */
  streams: Map<string, TurnStream> | null = null;

  add(sequence: number, body: CommandBody, source: EffectSource): void {
    switch (body.kind) {
      case "ActivityScheduled":
        this.activities.set(sequence, { sequence, body }); // its deadline: deadline-alarm.ts
        return;
      case "ActivityCancelRequested":
        if (!this.activities.delete(body.scheduled)) this.cancelledTasks.push(body.scheduled);
        return;
      case "TimerCreated":
        this.addTimer({
          kind: "timer",
          sequence,
          ...(body.delayMs === undefined ? { dueAt: body.due } : { delayMs: body.delayMs }),
        });
        return;
      case "TimerCancelled":
        this.cancelTimer("timer", body.scheduled);
        return;
      case "ChildScheduled": {
        const { instanceId: id, runId, execution } = source;
        this.#start(sequence, body, source, { id, runId, execution, sequence });
        return;
      }
      case "DetachedStarted":
      case "EventRaised":
      case "AskSent":
        this.#dispatch(dispatchOf(sequence, body, source));
        return;
      case "StepCancelRequested":
      case "ChildCancelRequested": // cancelChild adds the effect, because its caller has the id of the child
      case "StatusSet": // stateChangeOf derives this effect when the turn is committed
      case "KeyValueSet":
      case "KeyValueCleared":
      case "AttributesSet":
      case "StepScheduled":
      case "EventSubscribed":
      case "EventSubscriptionCancelled":
      case "CallbackCreated":
      case "AskCancelled": // cancelAsk adds the effect
      case "SendObserved": // outgoing-calls.ts adds the effect
      case "RequestsServed":
      case "RequestsClosed":
      case "RequestAnswered": // request-call.ts adds the effect, because it has the request
      case "RequestRefused":
        return;
    }
  }

  addTimer(timer: NewTimer): void {
    this.timers.set(timerKey(timer), timer);
  }

  /** Deletes a timer message that is not due yet. A timer of the same turn is never written. */
  cancelTimer(kind: NewTimer["kind"], sequence: number): void {
    const reference = { kind, sequence };
    if (!this.timers.delete(timerKey(reference))) this.cancelledTimers.push(reference);
  }

  /** Cancels a child. A child that was called in the same turn is never started. */
  cancelChild(child: { sequence: number; id: string; reason: string }): void {
    if (this.starts.delete(child.sequence)) return;
    this.sends.push({
      to: { id: child.id },
      kind: "cancel",
      execution: null,
      sequence: null,
      data: JSON.stringify(cancelRequest(child.reason, "parent")),
      key: "cancel",
    });
  }

  /** Withdraws a request. A request of the same turn is never sent. `sequence`: of the command that cancels. */
  cancelAsk(sequence: number, asked: number, body: AskSent, source: EffectSource): void {
    if (this.dispatched?.delete(asked) === true) return;
    const requestId = askRequestId(asked, source);
    this.#dispatch({ sequence, item: { kind: "withdraw", id: body.id, requestId } });
  }

  /** Call it at the end of the turn, before its events are encoded. */
  settle(run: Run): void {
    hushUnused(run);
    this.recordState();
  }

  /** Adds the state to the last answer of the turn (published-state.2). */
  recordState(): void {
    if (this.published !== null) this.published.answer.state = this.published.text;
  }

  answer(answer: NewAnswer): void {
    (this.answers ??= []).push(answer);
  }

  /** The writes of this turn to a stream (stream-calls.1). */
  stream(name: string): TurnStream {
    this.streams ??= new Map();
    let stream = this.streams.get(name);
    if (stream === undefined) this.streams.set(name, (stream = { name, values: [] }));
    return stream;
  }

  changeCallback(requestId: string, state: CallbackChange["state"]): void {
    (this.callbacks ??= []).push({ requestId, state });
  }

  #dispatch(dispatch: Dispatch): void {
    (this.dispatched ??= new Map()).set(dispatch.sequence, dispatch);
  }

  #start(sequence: number, body: ChildScheduled, source: EffectSource, parent: ParentLink): void {
    // The run id and the seed of a child derive from the call, so that a repeated turn starts the same child.
    const runId = derivedId(source.runId, source.execution, sequence);
    const started: OrchestrationStarted = {
      kind: "OrchestrationStarted",
      name: body.name,
      orchestrationVersion: body.orchestrationVersion ?? "",
      input: body.input,
      runId,
      seed: derivedId(runId, source.execution, sequence),
      parent,
      ...inheritedMembers(source.started, body.context),
      ...(body.attributes === undefined ? {} : { attributes: body.attributes }),
      ...(body.unchecked === true ? { unchecked: true } : {}),
    };
    this.starts.set(sequence, {
      id: body.id,
      runId,
      name: body.name,
      version: body.orchestrationVersion ?? null,
      started: JSON.stringify(started),
      parent,
      onParentClose: body.onParentClose ?? "cancel",
      priority: body.priority ?? source.priority,
      attributes: body.attributes ?? {},
      ...(body.delayMs === undefined ? {} : { delayMs: body.delayMs }),
    });
  }
}

function timerKey(timer: TimerReference): string {
  return `${timer.kind}:${timer.sequence}`;
}

/**
 * The changes of the visible state by the events of a turn. Null if nothing changes. The last status wins.
 * Changes of key-values keep their order.
 */
export function stateChangeOf(
  events: readonly EventBody[],
  attributes: StoredAttributes,
  published: PublishedState | null,
): StateChange | null {
  let status: { readonly value: string | null } | null = null;
  let changesAttributes = false;
  const keyValues: KeyValueChange[] = [];
  for (const event of events) {
    if (event.kind === "StatusSet") status = { value: event.status };
    else if (event.kind === "AttributesSet") changesAttributes = true;
    else if (event.kind === "KeyValueSet") keyValues.push({ key: event.key, value: event.value });
    else if (event.kind === "KeyValueCleared")
      keyValues.push({ key: event.key ?? null, value: null });
  }
  if (published !== null) keyValues.push({ key: PUBLISHED_KEY, value: published.text });
  if (status === null && !changesAttributes && keyValues.length === 0) return null;
  return { status, attributes: changesAttributes ? attributes : null, keyValues };
}
