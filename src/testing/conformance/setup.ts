// Setup: a fresh store with two registered runtimes, and the steps that most cases begin with.

import { expect } from "vitest";
import type {
  CommitItem,
  InstanceRecord,
  LeasedInstance,
  LeasedInstances,
  LeasedTask,
  LeasedTasks,
  LeaseInstancesRequest,
  LeaseTasksRequest,
  Message,
  NewInstance,
  NewTask,
  NewTimer,
  Provider,
  ResultOf,
  StartItem,
  StartResult,
  TaskAddress,
  TurnResult,
} from "../../core/provider/index.ts";
import { decodeHistory } from "../../core/history/rows.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import type { VirtualEnvironment } from "../virtual-environment.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  completedText,
  eventText,
  fresh,
  type Held,
  newInstance,
  newTask,
  registration,
  scheduledText,
  startItem,
  TARGETS,
  turnItem,
  type TurnFields,
  VERSION,
} from "./fixture.ts";
import type { OpenedProvider, OpenTransaction, Tampering } from "./open-provider.ts";

type Started = Extract<StartResult, { kind: "started" }>;
type Committed = Extract<TurnResult, { kind: "committed" }>;

export interface HoldFields extends Partial<Omit<StartItem, "id" | "lease">> {
  readonly owner?: string;
  readonly leaseMs?: number;
}

interface HeldTask {
  readonly held: Held;
  readonly task: TaskAddress;
}

export class Setup {
  readonly environment: VirtualEnvironment;
  readonly provider: Provider;
  readonly #opened: OpenedProvider;
  readonly #others: Provider[] = [];

  constructor(environment: VirtualEnvironment, opened: OpenedProvider) {
    this.environment = environment;
    this.provider = opened.provider;
    this.#opened = opened;
  }

  async prepare(): Promise<void> {
    await this.provider.registerRuntime(registration({ id: ALPHA }));
    await this.provider.registerRuntime(registration({ id: BETA, nodeId: "node-2" }));
  }

  async close(): Promise<void> {
    for (const other of this.#others) await other.close();
    await this.#opened.cleanup();
  }

  /** A second provider on the same store; only for cases that need "reopen". */
  async another(): Promise<Provider> {
    if (this.#opened.reopen === undefined)
      throw new Error('This case must list "reopen" in its needs.');
    const other = await this.#opened.reopen();
    this.#others.push(other);
    return other;
  }

  async closeOther(other: Provider): Promise<void> {
    this.#others.splice(this.#others.indexOf(other), 1);
    await other.close();
  }

  /** A user's transaction; only for cases that need "begin". */
  async begin(): Promise<OpenTransaction> {
    if (this.#opened.begin === undefined)
      throw new Error('This case must list "begin" in its needs.');
    return this.#opened.begin();
  }

  /** Direct changes to stored data; only for cases that list them in their needs. */
  get tamper(): Required<Tampering> {
    return this.#opened.tamper as Required<Tampering>;
  }

  /** Commits one item alone. */
  async commit<Item extends CommitItem>(item: Item): Promise<ResultOf<Item>> {
    const results = await this.provider.commit([item]);
    expect(results).toHaveLength(1);
    return results[0] as ResultOf<Item>;
  }

  /** Starts an instance without a lease. */
  async start(id: string, fields: Partial<StartItem> = {}): Promise<Started> {
    return started(await this.commit(startItem({ ...fields, id })));
  }

  /** Starts an instance with a lease and commits its first turn. */
  async hold(id: string, fields: HoldFields = {}): Promise<Held> {
    const { owner = ALPHA, leaseMs, ...rest } = fields;
    const token = fresh();
    const lease = { owner, token, ...(leaseMs === undefined ? {} : { leaseMs }) };
    const item = startItem({ ...rest, id, lease });
    const { key, execution, leased } = started(await this.commit(item));
    expect(leased, "the start message of an instance that was started with a lease").not.toBeNull();
    const held = { id, runId: item.runId, key, execution, token, lastEvent: 0 };
    await this.turn(held, {
      version: item.version ?? VERSION,
      events: [item.started],
      consumed: leased === null ? [] : [leased.id],
    });
    return held;
  }

  /** Commits a turn that must succeed, and updates `held`. */
  async turn(held: Held, fields: TurnFields = {}): Promise<Committed> {
    const item = turnItem(held, { at: this.environment.now(), ...fields });
    const result = await this.commit(item);
    expect(result).toMatchObject({ kind: "committed" });
    if (item.change.kind === "continued") {
      held.execution += 1;
      held.lastEvent = 0;
    } else {
      held.lastEvent = item.row?.last ?? held.lastEvent;
    }
    return result as Committed;
  }

  /** Completes a leased instance. */
  async complete(held: Held, output = "null", fields: TurnFields = {}): Promise<void> {
    await this.turn(held, {
      events: [completedText(output)],
      change: { kind: "ended", status: "completed", output, error: null },
      ...fields,
    });
  }

  /** Commits a turn that schedules one activity. The task has the sequence of the event. */
  async schedule(held: Held, fields: Partial<NewTask> = {}): Promise<TaskAddress> {
    const sequence = held.lastEvent + 1;
    const task = newTask({ ...fields, sequence });
    await this.turn(held, { events: [scheduledText(task.name)], tasks: [task] });
    return { key: held.key, execution: held.execution, sequence };
  }

  /** Holds an instance and schedules one activity in it. */
  async holdTask(id: string, fields: Partial<NewTask> = {}): Promise<HeldTask> {
    const held = await this.hold(id);
    return { held, task: await this.schedule(held, fields) };
  }

  /** Holds an instance and schedules several activities in one turn. The first task has the sequence 2. */
  async holdTasks(
    id: string,
    count: number,
    fieldsOf: (index: number) => Partial<NewTask> = () => ({}),
  ): Promise<void> {
    const held = await this.hold(id);
    const indexes = Array.from({ length: count }, (_, index) => index);
    const tasks = indexes.map((index) => newTask({ ...fieldsOf(index), sequence: index + 2 }));
    await this.turn(held, { events: tasks.map(() => scheduledText()), tasks });
  }

  /** Commits a turn that starts one timer. The timer has the sequence of the turn's event. */
  timer(
    held: Held,
    due: Pick<NewTimer, "delayMs" | "dueAt">,
    fields: TurnFields = {},
  ): Promise<Committed> {
    const timers = [{ kind: "timer", sequence: held.lastEvent + 1, ...due }] as const;
    return this.turn(held, { events: [eventText()], timers, ...fields });
  }

  /** Commits a turn that starts one child. */
  startChild(held: Held, id: string, fields: Partial<NewInstance> = {}): Promise<Committed> {
    const { runId, execution, lastEvent } = held;
    const parent = { id: held.id, runId, execution, sequence: lastEvent + 1 };
    const starts = [newInstance({ ...fields, id, parent })];
    return this.turn(held, { events: [eventText()], starts });
  }

  lease(
    owner: string = BETA,
    fields: Partial<LeaseInstancesRequest> = {},
  ): Promise<LeasedInstances> {
    return this.provider.leaseInstances({
      owner,
      token: fresh(),
      limit: 100,
      targets: TARGETS,
      allowSuspect: false,
      messagesMax: 100,
      ...fields,
    });
  }

  /** Leases instances, and expects exactly the given one. */
  async leaseOnly(
    id: string,
    owner: string = BETA,
    fields: Partial<LeaseInstancesRequest> = {},
  ): Promise<LeasedInstance> {
    const { instances } = await this.lease(owner, fields);
    expect(instances.map((instance) => instance.id)).toEqual([id]);
    return instances[0] as LeasedInstance;
  }

  /** The same, although the instance may be a suspect. */
  leaseSuspect(id: string, owner: string = BETA): Promise<LeasedInstance> {
    return this.leaseOnly(id, owner, { allowSuspect: true });
  }

  async leaseNothing(
    owner: string = BETA,
    fields: Partial<LeaseInstancesRequest> = {},
  ): Promise<LeasedInstances> {
    const result = await this.lease(owner, fields);
    expect(result.instances.map((instance) => instance.id)).toEqual([]);
    return result;
  }

  leaseTasks(owner: string = BETA, fields: Partial<LeaseTasksRequest> = {}): Promise<LeasedTasks> {
    return this.provider.leaseTasks({
      owner,
      token: fresh(),
      limit: 100,
      names: [CHARGE],
      tags: "any",
      sessions: null,
      allowSuspect: false,
      ...fields,
    });
  }

  /** Leases tasks, and expects exactly one. */
  async leaseOneTask(
    owner: string = BETA,
    fields: Partial<LeaseTasksRequest> = {},
  ): Promise<LeasedTask> {
    const { tasks } = await this.leaseTasks(owner, fields);
    expect(tasks).toHaveLength(1);
    return tasks[0] as LeasedTask;
  }

  async leaseNoTask(owner: string = BETA, fields: Partial<LeaseTasksRequest> = {}): Promise<void> {
    expect((await this.leaseTasks(owner, fields)).tasks).toEqual([]);
  }

  /** The due messages of a leased instance. */
  async due(held: Held, messagesMax = 100): Promise<readonly Message[]> {
    const taken = await this.provider.takeMessages([held.key], messagesMax);
    return taken.get(held.key) ?? [];
  }

  /** The due failure of the child that event 2 of a leased instance started. */
  async childFailure(held: Held): Promise<unknown> {
    const [message] = await this.due(held);
    expect(message).toMatchObject({ kind: "child", execution: 1, sequence: 2 });
    const failure: unknown = JSON.parse(message?.data ?? "null");
    expect(failure).toMatchObject({ kind: "ChildFailed", scheduled: 2 });
    return failure;
  }

  async read(id: string): Promise<InstanceRecord> {
    const record = await this.provider.readInstance(id);
    expect(record, `the instance "${id}"`).not.toBeNull();
    return record as InstanceRecord;
  }

  /** The decoded events of an execution. Decoding also checks that the sequence has no gaps (I4). */
  async events(held: Pick<Held, "key" | "execution">): Promise<HistoryEvent[]> {
    const { key, execution } = held;
    const rows = await this.provider.readHistory({ key, execution });
    expect(rows[0]?.first ?? 1).toBe(1);
    return decodeHistory(rows);
  }

  async eventKinds(held: Pick<Held, "key" | "execution">): Promise<string[]> {
    return (await this.events(held)).map((event) => event.kind);
  }

  async inboxKinds(key: number): Promise<string[]> {
    return (await this.provider.readInbox(key)).map((message) => message.kind);
  }

  /** Declares a runtime dead without waiting for missed heartbeats. */
  async die(owner: string): Promise<void> {
    const result = await this.provider.expireRuntime({ id: owner, staleMs: null });
    expect(result.expired).toBe(true);
  }

  /** Awaits a call and moves virtual time meanwhile, for calls that retry. */
  async drive<Value>(call: Promise<Value>): Promise<Value> {
    const state = { settled: false };
    const watched = call.finally(() => (state.settled = true));
    watched.catch(() => undefined);
    while (!state.settled) {
      await this.environment.settle();
      const next = this.environment.nextTimerAt();
      if (!state.settled && next !== null) {
        await this.environment.advance(Math.max(next - this.environment.now(), 0));
      }
    }
    return watched;
  }
}

function started(result: StartResult): Started {
  expect(result).toMatchObject({ kind: "started" });
  return result as Started;
}
