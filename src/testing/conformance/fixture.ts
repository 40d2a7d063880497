// Builders of commit items: every field has a default, so a test names only the fields that matter.

import { composeRow } from "../../core/history/rows.ts";
import { requestMessageName } from "../../core/ids/request-messages.ts";
import type {
  Asker,
  AskItem,
  AskStart,
  CancelItem,
  ForkItem,
  LeasedInstance,
  NewInstance,
  NewTask,
  OutgoingMessage,
  PauseItem,
  ResumeItem,
  RuntimeRegistration,
  SendItem,
  SessionRequest,
  StartItem,
  StateChange,
  TaskAddress,
  TaskClaim,
  TerminateItem,
  TurnItem,
  WithdrawItem,
} from "../../core/provider/index.ts";

export const ALPHA = "runtime-alpha";
export const BETA = "runtime-beta";
export const GAMMA = "runtime-gamma";

/** The default orchestration, its version and the default activity of all cases. */
export const ORDER = "order";
export const VERSION = "1.0.0";
export const CHARGE = "charge";
/** The targets of a runtime that registers ORDER. */
export const TARGETS: readonly string[] = [ORDER, `${ORDER}@${VERSION}`];

/** The lease of a task that is created leased. */
export const TASK_LEASE = { owner: ALPHA, token: 77 };
/** The result of an item whose lease token is not current. */
export const LEASE_LOST = refused("LEASE_LOST");

const AT_DEFAULT = Date.UTC(2026, 0, 1);
let lastFresh = 1_000;

/** A unique number, for tokens, commit ids and other ids. */
export function fresh(): number {
  lastFresh += 1;
  return lastFresh;
}

/** The result of an item that the store did not write. */
export function refused<Code extends string>(code: Code): { kind: "refused"; code: Code } {
  return { kind: "refused", code };
}

/** A leased instance, as its runtime knows it. */
export interface Held {
  readonly id: string;
  readonly runId: string;
  readonly key: number;
  execution: number;
  token: number;
  lastEvent: number;
}

export function heldFrom(leased: LeasedInstance): Held {
  const { id, runId, key, execution, token, lastEvent } = leased;
  return { id, runId, key, execution, token, lastEvent };
}

export function startItem(fields: Partial<StartItem> & { readonly id: string }): StartItem {
  return {
    ...newInstance(fields),
    kind: "start",
    onConflict: "fail",
    requestId: null,
    terminated: failedText("terminated"),
    events: [],
    lease: null,
    ...fields,
  };
}

/** A child or detached instance, as a turn starts it. */
export function newInstance(fields: Partial<NewInstance> & { readonly id: string }): NewInstance {
  const runId = fields.runId ?? `run-${fresh()}`;
  const name = fields.name ?? ORDER;
  return {
    runId,
    name,
    version: null,
    started: startedText({ runId, name }),
    parent: null,
    onParentClose: "cancel",
    priority: 3,
    attributes: {},
    ...fields,
  };
}

export interface TurnFields extends Partial<Omit<TurnItem, "kind" | "row">> {
  /** Encoded events to append; they form one history row. */
  readonly events?: readonly string[];
  readonly at?: number;
}

/** A turn as the lease holder commits it: with its token and after its last event. */
export function turnItem(held: Held, fields: TurnFields = {}): TurnItem {
  const { events = [], at = AT_DEFAULT, ...rest } = fields;
  const lastEvent = fields.lastEvent ?? held.lastEvent;
  const row = { first: lastEvent + 1, last: lastEvent + events.length };
  return {
    kind: "turn",
    commitId: fresh(),
    key: held.key,
    execution: held.execution,
    token: held.token,
    lastEvent,
    version: null,
    replayVersion: 1,
    row: events.length === 0 ? null : { ...row, data: composeRow(at, events) },
    consumed: [],
    finished: [],
    tasks: [],
    cancelledTasks: [],
    timers: [],
    cancelledTimers: [],
    starts: [],
    sends: [],
    change: { kind: "none" },
    state: null,
    cancelRequested: null,
    stepsOpen: false,
    release: false,
    messagesMax: 100,
    ...rest,
  };
}

export function newTask(fields: Partial<NewTask> & { readonly sequence: number }): NewTask {
  return {
    name: CHARGE,
    input: '{"amount":1}',
    options: null,
    session: null,
    tags: null,
    priority: 3,
    lease: null,
    ...fields,
  };
}

export function outgoing(
  to: OutgoingMessage["to"],
  fields: Partial<OutgoingMessage> = {},
): OutgoingMessage {
  return {
    to,
    kind: "event",
    execution: null,
    sequence: null,
    name: "news",
    data: '"hello"',
    key: null,
    ...fields,
  };
}

export function sendItem(fields: Partial<SendItem> & { readonly id: string }): SendItem {
  return {
    kind: "send",
    name: "news",
    data: '"hello"',
    requestId: `request-${fresh()}`,
    ifMissing: "fail",
    ...fields,
  };
}

/** A send that the store keeps until its receiver starts, if the receiver does not exist yet. */
export function keepItem(fields: Partial<SendItem> & { readonly id: string }): SendItem {
  return sendItem({ ...fields, ifMissing: "keep" });
}

/** A request of a client. */
export function askItem(fields: Partial<AskItem> & { readonly id: string }): AskItem {
  return {
    kind: "ask",
    name: requestMessageName("total"),
    data: '{"input":"1"}',
    requestId: `ask-${fresh()}`,
    asker: null,
    start: null,
    ...fields,
  };
}

/** The start that an ask brings. */
export function askStart(
  id: string,
  fields: Partial<Pick<AskStart, "name" | "onConflict" | "delayMs">> = {},
): AskStart {
  const { onConflict = "useExisting", ...rest } = fields;
  return { ...startItem({ id }), onConflict, requestId: null, lease: null, ...rest };
}

/** The execution of a leased instance as an asker; `sequence` is the event that recorded the call. */
export function askerOf({ id, runId, execution }: Held, sequence = 2): Asker {
  return { id, runId, execution, sequence };
}

export function withdrawItem({ id, requestId }: AskItem): WithdrawItem {
  return { kind: "withdraw", id, requestId };
}

/** A fork with a copied history of three events. */
export function forkItem(id: string, fields: Partial<ForkItem> = {}): ForkItem {
  return {
    kind: "fork",
    instance: newInstance({ id, version: VERSION }),
    rows: [
      { first: 1, last: 1, data: composeRow(1, [startedText()]) },
      { first: 2, last: 3, data: composeRow(2, [eventText("1"), eventText("2")]) },
    ],
    keyValues: [],
    status: null,
    ...fields,
  };
}

export function stateChange(fields: Partial<StateChange>): StateChange {
  return { status: null, attributes: null, keyValues: [], ...fields };
}

export const PAUSE_INFO = '{"reason":"for lunch","at":1}';

export function pauseItem(id: string, info = PAUSE_INFO): PauseItem {
  return { kind: "pause", id, info };
}

export function resumeItem(id: string): ResumeItem {
  return { kind: "resume", id };
}

export function cancelItem(id: string): CancelItem {
  return { kind: "cancel", id, request: cancelText("enough"), cancelled: failedText("cancelled") };
}

export function terminateItem(id: string): TerminateItem {
  return {
    kind: "terminate",
    id,
    status: "terminated",
    terminated: failedText("terminated"),
    childRequest: cancelText("the parent was terminated"),
  };
}

/** A request that may claim any session. */
export function sessionsOf(owner: string): SessionRequest {
  return { owner, token: fresh(), leaseMs: 60_000, newMax: 1_000, inFlight: [] };
}

export function claimOf(task: TaskAddress, token = TASK_LEASE.token): TaskClaim {
  const { key, execution, sequence } = task;
  return { key, execution, sequence, token };
}

export function registration(
  fields: Partial<RuntimeRegistration> & { readonly id: string },
): RuntimeRegistration {
  return { nodeId: "node-1", process: null, hostname: "host-1", registered: "{}", ...fields };
}

export function startedText(
  fields: { runId?: string; name?: string; input?: string } = {},
): string {
  return JSON.stringify({
    kind: "OrchestrationStarted",
    name: fields.name ?? ORDER,
    orchestrationVersion: VERSION,
    input: fields.input ?? "null",
    runId: fields.runId ?? `run-${fresh()}`,
    seed: "00112233445566778899aabbccddeeff",
  });
}

export function failedText(
  outcome: "failed" | "cancelled" | "terminated",
  message = "why",
): string {
  const failure = { category: "application", name: "Error", message, retryable: false };
  return JSON.stringify({ kind: "OrchestrationFailed", outcome, failure });
}

export function completedText(output = "null"): string {
  return JSON.stringify({ kind: "OrchestrationCompleted", output });
}

export function cancelText(reason: string): string {
  return JSON.stringify({ kind: "OrchestrationCancelRequested", reason });
}

export function scheduledText(name = CHARGE): string {
  return JSON.stringify({ kind: "ActivityScheduled", name, input: '{"amount":1}' });
}

/** The outcome of the activity that the event `scheduled` scheduled. */
export function outcomeText(scheduled: number, output = '"paid"'): string {
  return JSON.stringify({ kind: "ActivityCompleted", scheduled, output, attempts: 1 });
}

export function childOutcomeText(scheduled: number, output = '"done"'): string {
  return JSON.stringify({ kind: "ChildCompleted", scheduled, output });
}

/** An arbitrary event. */
export function eventText(data = '"hello"', name = "news"): string {
  return JSON.stringify({ kind: "EventReceived", name, data });
}
