// Items: a random commit item of a given kind.

import { composeRow } from "../../../src/core/history/rows.ts";
import { generatedBefore } from "../../../src/core/ids/request-ids.ts";
import type {
  AppendItem,
  AskItem,
  CommitItem,
  Dispatch,
  InstanceChange,
  NewAnswer,
  NewTask,
  OutgoingMessage,
  StartItem,
  StateChange,
  StreamWrite,
  TaskClaim,
  TurnItem,
} from "../../../src/core/provider/index.ts";
import {
  askerOf,
  askItem,
  askStart,
  cancelText,
  completedText,
  eventText,
  failedText,
  forkItem,
  newInstance,
  newTask,
  outcomeText,
  startedText,
  startItem,
  VERSION,
} from "../../../src/testing/conformance/fixture.ts";
import type { Caller, Held } from "./caller.ts";
import { dueOf, type ModelRequest } from "./model-store.ts";
import { valuesUnder, writtenBy } from "./model-streams.ts";

/**
 * The kinds that the model knows. Callbacks, enqueued jobs and rewinds have conformance cases
 * (messages/callbacks.ts, tasks/deferred.ts, jobs, instances/rewinds.ts).
 */
export type ItemKind = Exclude<
  CommitItem["kind"],
  "callback" | "callTask" | "defer" | "enqueue" | "enqueueMany" | "rewind"
>;

export function randomItem(kind: ItemKind, caller: Caller): CommitItem {
  const { now } = caller.store;
  switch (kind) {
    case "start":
      return randomStart(caller);
    case "turn":
      return caller.oneIn(4) ? unleasedEnd(caller) : randomTurn(caller);
    case "completion": {
      const task = withValues(caller, caller.claim());
      return { kind, task, outcome: outcomeText(task.sequence, `${caller.fresh()}`) };
    }
    case "retry": {
      const task = caller.claim();
      const delayMs = caller.of([0, 0.5, 5_000]);
      const died = caller.oneIn(2) ? { died: true as const } : {};
      const heartbeat = caller.oneIn(3) ? { heartbeat: `"beat ${caller.fresh()}"` } : {};
      return { kind, task, delayMs, failure: `{"at":${now}}`, ...died, ...heartbeat };
    }
    case "releaseTask":
      return { kind, task: caller.claim() };
    case "stepOutcome": {
      const { key, token, execution, lastEvent } = caller.hold();
      const sequence = Math.max(lastEvent, 1);
      return { kind, key, token, execution, sequence, outcome: `{"n":${caller.next() % 3}}` };
    }
    case "send": {
      const requestId = caller.of(REQUESTS);
      const data = `"${caller.fresh()}"`;
      const name = caller.of(["news", "other"]);
      return { kind, id: caller.id(), name, data, requestId, ifMissing: caller.of(MISSING) };
    }
    case "ask":
      return randomAsk(caller, caller.oneIn(2) ? caller.hold() : null);
    case "withdraw":
      return { kind, id: caller.id(), requestId: caller.of(REQUESTS) };
    case "append":
      return randomAppend(caller);
    case "trim":
      return { kind, id: caller.id(), name: caller.of(STREAMS), before: caller.next() % 12 };
    case "pause":
      return { kind, id: caller.id(), info: `{"reason":"${caller.fresh()}","at":${now}}` };
    case "resume":
    case "unblock":
      return { kind, id: caller.id() };
    case "fork": {
      const runId = `run-${caller.fresh()}`;
      const id = caller.anyId();
      const instance = newInstance({
        id,
        version: VERSION,
        runId,
        started: startedText({ runId }),
      });
      const isStated = caller.oneIn(2);
      const keyValues = isStated ? ([["k0", "1", now - 5]] as const) : [];
      return forkItem(id, { instance, keyValues, status: isStated ? '"forked"' : null });
    }
    case "cancel": {
      const request = cancelText(`enough ${caller.fresh()}`);
      return { kind, id: caller.id(), request, cancelled: failedText("cancelled", request) };
    }
    case "terminate": {
      const terminated = failedText("terminated", `${caller.fresh()}`);
      const childRequest = cancelText("the parent was terminated");
      const status = caller.of(["terminated", "failed"]);
      return { kind, id: caller.id(), status, terminated, childRequest };
    }
    case "block": {
      const { key, token, owner: by } = caller.hold(2);
      return { kind, key, token, by, reason: `{"n":${caller.fresh()}}` };
    }
    case "releaseInstance": {
      const { key, token } = caller.hold(2);
      return { kind, key, token };
    }
  }
}

const STREAMS = ["tokens", "other"] as const;
const MISSING = ["fail", "keep"] as const;
const GENERATED_AT = Date.UTC(2026, 0, 1);
/** Request ids chosen by callers, and generated ids: with the correct time and with wrong clocks. */
export const REQUESTS = [
  ...(["request-0", "request-1", "request-2", "request-3", "request-4"] as const),
  `${generatedBefore(GENERATED_AT)}-1`,
  `${generatedBefore(GENERATED_AT + 10 * 86_400_000)}-1`,
  `${generatedBefore(GENERATED_AT - 365 * 86_400_000)}-1`,
] as const;
const POLICIES = ["fail", "useExisting", "restart", "terminateExisting"] as const;

function randomStart(caller: Caller): CommitItem {
  const runId = `run-${caller.fresh()}`;
  const isLeased = caller.next() % 3 < 2;
  const bringsTurn = caller.oneIn(2);
  const lease = { owner: caller.owner(), token: caller.fresh(), ...caller.leaseMs() };
  const time = caller.of([{}, {}, {}, { delayMs: 2_000.5 }, { dueAt: caller.store.now + 7_000 }]);
  const requestId = caller.oneIn(3) ? `request-${caller.next() % 6}` : null;
  const event = { name: "news", data: `"${caller.fresh()}"`, key: "request-0" };
  const version = caller.oneIn(4) ? VERSION : null;
  const item = startItem({
    ...{ id: bringsTurn ? caller.freeId() : caller.anyId(), requestId, version },
    ...{ runId, started: startedText({ runId }) },
    ...{ onConflict: caller.of(POLICIES), priority: caller.of([3, 3, 1, 5]), ...time },
    ...{ events: caller.oneIn(4) ? [event, { ...event, key: null }] : [] },
    ...{ lease: isLeased ? lease : null, terminated: failedText("terminated", runId) },
    ...{ attributes: caller.oneIn(3) ? { customer: runId } : {} },
  });
  if (!bringsTurn) return item;
  return { ...item, firstTurn: isLeased ? randomFirstTurn(caller, item) : jobTurn(caller, item) };
}

/** The first turn of a job (commit.6). A store may ignore a turn that leases tasks to an unknown runtime. */
function jobTurn(caller: Caller, item: StartItem): TurnItem {
  const { keepsSuspicion: _, ...turn } = randomFirstTurn(caller, item, { kind: "none" });
  const owner = caller.oneIn(4) ? undefined : caller.of([...caller.store.runtimes.keys()]);
  const lease = owner === undefined ? null : { owner, token: caller.fresh() };
  const tasks = [newTask({ sequence: 2, lease })];
  return { ...turn, tasks, timers: [], cancelRequested: null, release: true, stepsOpen: false };
}

/** The end of an instance by the worker of one of its tasks (commit.7), usually of an instance without a lease. */
function unleasedEnd(caller: Caller): TurnItem {
  const { store } = caller;
  const free = [...store.instances.values()].filter(
    ({ lease, inbox, tasks }) =>
      lease === null && inbox.length === 0 && tasks.some((task) => task.lease !== null),
  );
  if (free.length === 0 && !caller.oneIn(6)) return randomTurn(caller);
  const claim = caller.claim(caller.of(free)?.record.key);
  const { key } = claim;
  const { id = "", runId = "", execution = 1, lastEvent = 0 } = store.byKey(key)?.record ?? {};
  const place = caller.oneIn(9)
    ? { execution, lastEvent: lastEvent + 1 }
    : { execution, lastEvent };
  const held = { key, id, runId, owner: "", token: 0, ...place };
  const change = { kind: "ended", status: "completed", output: "1", error: null } as const;
  const { dispatched: _, ...turn } = turnOf(caller, held, { change, count: 2 });
  const finished = [withValues(caller, claim)];
  return { ...turn, finished, isUnleased: true, cancelRequested: null, release: true };
}

/** The turn that a start brings along (commit.5). The caller of the store sets its key. */
function randomFirstTurn(
  caller: Caller,
  { id, runId, version, lease }: StartItem,
  change = randomChange(caller),
): TurnItem {
  const { owner = "", token = 0 } = lease ?? {};
  const held = { key: 0, id, runId, owner, token, execution: 1, lastEvent: 0 };
  const count = change.kind === "none" ? 2 : 1;
  // A store may ignore a turn with dispatched items, and nothing can be answered yet.
  const { dispatched: _, answers: _none, ...turn } = turnOf(caller, held, { change, count });
  return {
    ...{ ...turn, version: version ?? VERSION, waitingEvents: "ready" },
    ...{ consumed: [], finished: [], cancelledTasks: [], cancelledTimers: [] },
    // PostgreSQL ignores the turn if it sends a cancel that ends its receiver.
    sends: turn.sends.filter(({ kind }) => kind !== "cancel"),
  };
}

function randomTurn(caller: Caller): TurnItem {
  const { store } = caller;
  const held = caller.hold(6);
  const { key, lastEvent } = held;
  const target = store.byKey(key);
  const inbox = target === undefined ? [] : dueOf(target, store.now);
  const known = inbox.filter(({ id }) => caller.seenMessages.has(id)).map(({ id }) => id);
  const change = randomChange(caller);
  const count = change.kind === "none" ? caller.of([1, 2, 0]) : 1;
  return {
    ...turnOf(caller, held, { change, count }),
    version: lastEvent === 0 ? (target?.record.version ?? VERSION) : null,
    consumed: caller.oneIn(4) ? known.slice(0, 1) : known,
    finished: caller.oneIn(6) ? [withValues(caller, caller.claim(key))] : [],
    cancelledTasks: caller.oneIn(8) ? [caller.of([lastEvent, lastEvent + 1])] : [],
    cancelledTimers: caller.oneIn(6) ? [{ kind: "timer", sequence: lastEvent }] : [],
  };
}

/** The append of a run that knows what it wrote, or does not. A token has one run. */
function randomAppend(caller: Caller): AppendItem {
  const task = caller.claim();
  const name = caller.of(STREAMS);
  const run = `run-${task.token}`;
  const entries = caller.store.byKey(task.key)?.streams.get(name)?.entries ?? [];
  const written = writtenBy(entries, { task, run });
  const position = caller.oneIn(4) ? caller.of([0, written + 1]) : written;
  const values = Array.from({ length: 1 + (caller.next() % 3) }, () => `${caller.fresh()}`);
  return { kind: "append", task, name, run, position, values };
}

/** A turn never writes values to a stream that is closed (provider.streams.5). */
function randomWrite(caller: Caller, { key }: Held): StreamWrite {
  const name = caller.of(STREAMS);
  const isClosed = caller.store.byKey(key)?.streams.get(name)?.isClosed === true;
  const values = Array.from(
    { length: isClosed ? 0 : caller.next() % 3 },
    () => `${caller.fresh()}`,
  );
  return { name, values, ...(values.length === 0 || caller.oneIn(9) ? { closes: true } : {}) };
}

/** The claim of an attempt that knows what it wrote. Rarely, the store has lost a value of it. */
function withValues(caller: Caller, claim: TaskClaim): TaskClaim {
  if (!caller.oneIn(2)) return claim;
  const written = valuesUnder(caller.store.byKey(claim.key)?.streams ?? new Map(), claim);
  return { ...claim, streamValues: caller.oneIn(6) ? written + 1 : written };
}

function randomAsk(caller: Caller, held: Held | null): AskItem {
  const id = caller.id();
  const asker = held === null ? null : askerOf(held, Math.max(held.lastEvent, 1));
  const onConflict = caller.of(["useExisting", "restart"] as const);
  const runId = `run-${caller.fresh()}`;
  const started = startedText({ runId });
  const start = { ...askStart(id, { onConflict }), runId, started };
  const delayed = caller.oneIn(3) ? { ...start, delayMs: 2_000.5 } : start;
  return askItem({
    ...{ id, asker, requestId: caller.of(REQUESTS), data: `{"input":"${caller.fresh()}"}` },
    start: caller.oneIn(3) ? delayed : null,
  });
}

function randomDispatch(caller: Caller, held: Held): Omit<Dispatch, "sequence"> {
  const item = randomDispatched(caller, held);
  if (item.kind !== "send" || caller.oneIn(2)) return { item };
  return { item: { ...item, requestId: `own-${caller.fresh()}` }, hasOwnId: true };
}

function randomDispatched(caller: Caller, held: Held): Dispatch["item"] {
  const kind = caller.of(["ask", "send", "start", "withdraw"] as const);
  if (kind === "ask") return randomAsk(caller, { ...held, lastEvent: held.lastEvent + 1 });
  if (kind === "start") {
    const runId = `run-${caller.fresh()}`;
    const started = startedText({ runId });
    return startItem({ id: caller.anyId(), runId, started, onConflict: caller.of(POLICIES) });
  }
  const id = caller.id();
  const requestId = caller.of(REQUESTS);
  if (kind === "withdraw") return { kind, id, requestId };
  const data = `"${caller.fresh()}"`;
  return { kind, id, name: "news", data, requestId, ifMissing: caller.of(MISSING) };
}

/** Answers to an open request of the instance, or to any. */
function randomAnswers(caller: Caller, { key }: Held): NewAnswer[] {
  const requests = caller.store.byKey(key)?.requests ?? new Map<string, ModelRequest>();
  const open = [...requests].flatMap(([name, { outcome }]) =>
    outcome === "asked" ? [name.slice("ask:".length)] : [],
  );
  const requestId = (caller.oneIn(4) ? undefined : caller.of(open)) ?? caller.of(REQUESTS);
  return [{ requestId, answer: `{"output":"${caller.fresh()}"}` }];
}

/** A turn with so many events that takes nothing from the inbox and cancels nothing. */
function turnOf(
  caller: Caller,
  held: Held,
  { change, count }: { readonly change: InstanceChange; readonly count: number },
): TurnItem {
  const { store } = caller;
  const { key, token, execution, lastEvent } = held;
  const isPlain = change.kind === "none";
  const first = lastEvent + 1;
  const bodies = Array.from({ length: count }, () => eventText(`${caller.fresh()}`));
  const row = { first, last: lastEvent + count, data: composeRow(store.now, bodies) };
  const timer = { kind: caller.of(["timer", "deadline"]), sequence: first } as const;
  const time = caller.of([{ delayMs: 3_000 }, { delayMs: 0 }, { dueAt: store.now + 50_000 }]);
  return {
    ...{ kind: "turn", commitId: caller.fresh(), key, execution, token, lastEvent },
    ...{ version: null, consumed: [], finished: [], cancelledTasks: [], cancelledTimers: [] },
    replayVersion: caller.of([1, 1, 2]),
    row: count === 0 ? null : row,
    tasks: isPlain && count > 0 ? randomTasks(caller, held, count) : [],
    timers: isPlain && caller.oneIn(4) ? [{ ...timer, ...time }] : [],
    starts: caller.oneIn(5) ? [randomChild(caller, held)] : [],
    sends: caller.oneIn(4) ? [randomSend(caller)] : [],
    ...{ change, state: caller.oneIn(4) ? randomState(caller) : null },
    cancelRequested: caller.oneIn(9) ? cancelText(`taken ${caller.fresh()}`) : null,
    stepsOpen: isPlain && caller.oneIn(4),
    ...{ release: caller.oneIn(8), messagesMax: caller.of([100, 1]) },
    ...(caller.oneIn(3) ? { answers: randomAnswers(caller, held) } : {}),
    ...(caller.oneIn(3) ? { streams: [randomWrite(caller, held)] } : {}),
    ...(caller.oneIn(4)
      ? { dispatched: [{ sequence: first, ...randomDispatch(caller, held) }] }
      : {}),
  };
}

function randomChange(caller: Caller): InstanceChange {
  switch (caller.next() % 13) {
    case 10:
      return { kind: "ended", status: "completed", output: completedText(), error: null };
    case 11:
      return { kind: "ended", status: "failed", output: null, error: failedText("failed") };
    case 12: {
      // A unique key: a message that is put back is not already in the inbox.
      const key = caller.of([null, `unread-${caller.fresh()}`]);
      const unread = [{ name: "news", data: '"unread"', key }];
      const started = startedText({ runId: `run-${caller.fresh()}` });
      const version = caller.of([null, VERSION]);
      return { kind: "continued", started, version, unread: caller.oneIn(2) ? unread : [] };
    }
    default:
      return { kind: "none" };
  }
}

/** Tasks with the sequence numbers of the turn's events. */
function randomTasks(caller: Caller, { owner, lastEvent }: Held, count: number): NewTask[] {
  return Array.from({ length: Math.min(caller.next() % 3, count) }, (_, index) => {
    const lease = { owner, token: caller.fresh(), ...caller.leaseMs() };
    return newTask({
      ...{ sequence: lastEvent + 1 + index, name: caller.of(["charge", "refund"]) },
      ...{ priority: caller.of([3, 3, 2]), lease: caller.oneIn(2) ? lease : null },
    });
  });
}

function randomChild(caller: Caller, { id, runId, execution, lastEvent }: Held) {
  const childRun = `run-${caller.fresh()}`;
  const parent = { id, runId, execution, sequence: Math.max(lastEvent, 1) };
  const child = newInstance({
    ...{ id: caller.anyId(), runId: childRun, started: startedText({ runId: childRun }) },
    ...{ parent: caller.oneIn(4) ? null : parent },
    onParentClose: caller.of(["cancel", "abandon"]),
  });
  return caller.oneIn(4) ? { ...child, delayMs: 2_000.5 } : child;
}

function randomSend(caller: Caller): OutgoingMessage {
  const id = caller.id();
  const { runId = "", execution = 1 } = caller.store.instances.get(id)?.record ?? {};
  const to = caller.of([{ id }, { id, runId }, { id, runId: "another" }]);
  const key = caller.of([null, `k${caller.next() % 2}`]);
  const sequence = caller.next() % 4;
  const data = `"${caller.fresh()}"`;
  const request = cancelText(`by another ${caller.fresh()}`);
  const other = execution + (caller.next() % 2);
  const noTask = { execution: null, sequence: null };
  return caller.of([
    { to, kind: "event", ...noTask, name: "news", data, key },
    { to, kind: "cancel", ...noTask, data: request, key: null },
    { to, kind: "child", execution, sequence, data, key: `c:${execution}:${sequence}` },
    { to, kind: "answer", execution: other, sequence, data, key: `a:${other}:${sequence}` },
    { to, kind: "activity", execution: other, sequence, data, key: null },
  ]);
}

function randomState(caller: Caller): StateChange {
  const value = `"${caller.fresh()}"`;
  const key = `k${caller.next() % 3}`;
  return {
    status: caller.of([null, { value }, { value: null }]),
    attributes: caller.oneIn(3) ? { customer: value } : null,
    keyValues: caller.of([[{ key, value }], [{ key, value: null }], [{ key: null, value: null }]]),
  };
}
