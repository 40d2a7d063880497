// Invariants 22 to 26, seen from the store: what each call from outside did to its callback or its activity.
//   22, 23. A value that was accepted is once in the inbox or in the history of its execution. 24. A repetition is
//   accepted. 25. Nothing is accepted after the callback's time, or after a turn has closed it. 26. An activity that was
//   completed has this one outcome, and its task is gone.

import type { HistoryEvent } from "../../../core/history/events.ts";
import {
  callbackMessageName,
  callbackRequestId,
  parseCallbackMessage,
} from "../../../core/ids/callback-messages.ts";
import type {
  CallbackItem,
  CallbackTarget,
  TaskCallItem,
} from "../../../core/provider/callbacks.ts";
import type { CommitItem, CommitResult } from "../../../core/provider/commit.ts";
import { isTerminalStatus } from "../../../core/provider/instances.ts";
import type { Carried } from "../calls.ts";
import type { InvariantNumber } from "../violation.ts";
import { refill } from "./refill.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

/** The last thing that happened to a callback, or to an activity that completes later. */
type Fate =
  | {
      readonly kind: "completed";
      readonly of: "callback" | "activity";
      readonly target: CallbackTarget;
      /** Codec text. */
      readonly value: string;
    }
  | { readonly kind: "closed" };
export type Found = readonly [invariant: InvariantNumber, what: string];

export class Callbacks {
  /** By request id, which names the run, the execution and the call. */
  readonly #fates = new Map<string, Fate>();

  checkpoint(): () => void {
    const fates = [...this.#fates];
    return () => refill(this.#fates, fates);
  }

  see(call: Carried): readonly Found[] {
    if (call.method !== "commit") return [];
    return call.args[0].flatMap((item, i) => this.#item(item, call.result[i], call.now));
  }

  #item(item: CommitItem, result: CommitResult | undefined, now: number): readonly Found[] {
    if (item.kind === "callback") return this.#callback(item, result, now);
    if (item.kind === "callTask") return this.#callTask(item, result);
    if (item.kind !== "turn" || result?.kind !== "committed") return [];
    for (const { requestId, state } of item.callbacks ?? []) {
      const isCompleted = this.#fates.get(requestId)?.kind === "completed";
      if (state === "closed" && !isCompleted) this.#fates.set(requestId, { kind: "closed" });
      if (state === "open" && isCompleted) this.#fates.delete(requestId);
    }
    return [];
  }

  #callback(item: CallbackItem, result: CommitResult | undefined, now: number): readonly Found[] {
    const { id, data, expiresAt } = item;
    const key = callbackRequestId(item);
    const earlier = this.#fates.get(key);
    const what = `callback ${key} of ${id}`;
    if (result?.kind === "refused" && earlier?.kind === "completed")
      return [["C24", `a repetition for ${what} was refused (${result.code})`]];
    if (result?.kind !== "done" || earlier?.kind === "completed") return [];
    const { value } = parseCallbackMessage(data);
    this.#fates.set(key, { kind: "completed", of: "callback", target: targetOf(item), value });
    if (earlier?.kind === "closed")
      return [["C25", `${what} was completed after a turn closed it`]];
    if (expiresAt === 0 || now < expiresAt) return [];
    return [["C25", `${what} was completed ${now - expiresAt} ms after its time`]];
  }

  #callTask(item: TaskCallItem, result: CommitResult | undefined): readonly Found[] {
    const key = callbackRequestId(item);
    const earlier = this.#fates.get(key);
    if (result?.kind === "refused" && earlier?.kind === "completed")
      return [["C24", `a repetition for activity ${key} of ${item.id} was refused`]];
    if (result?.kind !== "done" || earlier !== undefined || item.call.kind !== "complete")
      return [];
    const target = targetOf(item);
    this.#fates.set(key, { kind: "completed", of: "activity", target, value: item.call.output });
    return [];
  }

  /** Checks one instance. Must be called for every instance that a call changed. */
  check(now: InstanceSnapshot): readonly Found[] {
    const { id, runId, execution } = now.record;
    const found: Found[] = [];
    for (const [key, fate] of this.#fates) {
      if (fate.kind !== "completed" || fate.target.id !== id) continue;
      if (fate.target.runId !== runId || fate.target.execution !== execution) continue;
      const { value, target } = fate;
      const of = { key, value, sequence: target.sequence };
      found.push(...(fate.of === "callback" ? valueFaults(of, now) : outcomeFaults(of, now)));
    }
    return found;
  }
}

interface Completed {
  readonly key: string;
  readonly value: string;
  readonly sequence: number;
}

/** C22, C23 */
function valueFaults(
  { key, value, sequence }: Completed,
  { events, inbox }: InstanceSnapshot,
): readonly Found[] {
  const name = callbackMessageName(sequence);
  const received = events.flatMap((event) =>
    event.kind === "EventReceived" && event.name === name ? [event.data] : [],
  );
  const waiting = inbox.filter((message) => message.kind === "event" && message.key === key);
  const values = [...received, ...waiting.map(({ data }) => parseCallbackMessage(data).value)];
  if (values.length === 0)
    return [["C23", `the value of callback ${key} is neither in the history nor in the inbox`]];
  if (values.length > 1) return [["C22", `callback ${key} has the values ${values.join(", ")}`]];
  const [only] = values;
  return only === value ? [] : [["C24", `callback ${key} has ${only} instead of ${value}`]];
}

/** C26 */
function outcomeFaults(
  { value, sequence }: Completed,
  { record, events, inbox, tasks }: InstanceSnapshot,
): readonly Found[] {
  const isEnd = (event: HistoryEvent): boolean =>
    (event.kind === "ActivityCompleted" || event.kind === "ActivityFailed") &&
    event.scheduled === sequence;
  const ends = events.filter(isEnd);
  const isCancelled = events.some(
    (event) => event.kind === "ActivityCancelRequested" && event.scheduled === sequence,
  );
  const waiting = inbox.filter(
    (message) => message.kind === "activity" && message.sequence === sequence,
  );
  const found: Found[] = [];
  const what = `activity ${sequence} of ${record.id}, which a client completed,`;
  if (tasks.some((task) => task.sequence === sequence))
    found.push(["C26", `${what} still has a task`]);
  const count = ends.length + waiting.length;
  const mayMiss = isCancelled || isTerminalStatus(record.status);
  if (count > 1 || (count === 0 && !mayMiss)) found.push(["C26", `${what} has ${count} outcomes`]);
  const [end] = ends;
  if (end !== undefined && (end.kind !== "ActivityCompleted" || end.output !== value))
    found.push(["C26", `${what} ended with ${JSON.stringify(end)}`]);
  return found;
}

function targetOf({ id, runId, execution, sequence }: CallbackTarget): CallbackTarget {
  return { id, runId, execution, sequence };
}
