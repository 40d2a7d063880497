// Setup: a fresh store with two registered runtimes, and the steps that nearly every case begins with.

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
  NewTask,
  Provider,
  ResultOf,
  StartItem,
  StartResult,
  TaskAddress,
  TurnResult,
} from "../../core/provider/index.ts";
import { decodeHistory } from "../../core/history-row.ts";
import type { HistoryEvent } from "../../core/history-events.ts";
import type { VirtualEnvironment } from "../virtual-environment.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  completedText,
  fresh,
  type Held,
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
      throw new Error("this case must say that it needs reopen");
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
    if (this.#opened.begin === undefined) throw new Error("this case must say that it needs begin");
    return this.#opened.begin();
  }

  /** Only for cases that say which of them they need. */
  get tamper(): Required<Tampering> {
    return this.#opened.tamper as Required<Tampering>;
  }

  /** Commits one item on its own. */
  async commit<Item extends CommitItem>(item: Item): Promise<ResultOf<Item>> {
    const results = await this.provider.commit([item]);
    expect(results).toHaveLength(1);
    return results[0] as ResultOf<Item>;
  }

  /** Starts an instance that nobody holds. */
  async start(id: string, fields: Partial<StartItem> = {}): Promise<Started> {
    return started(await this.commit(startItem({ ...fields, id })));
  }

  /** Starts an instance, born leased, and commits its first turn. */
  async hold(id: string, fields: HoldFields = {}): Promise<Held> {
    const { owner = ALPHA, leaseMs, ...rest } = fields;
    const token = fresh();
    const lease = { owner, token, ...(leaseMs === undefined ? {} : { leaseMs }) };
    const item = startItem({ ...rest, id, lease });
    const { key, execution, leased } = started(await this.commit(item));
    expect(leased, "the start message of an instance that is born leased").not.toBeNull();
    const held = { id, runId: item.runId, key, execution, token, lastEvent: 0 };
    await this.turn(held, {
      version: item.version ?? VERSION,
      events: [item.started],
      consumed: leased === null ? [] : [leased.id],
    });
    return held;
  }

  /** Commits a turn that must succeed, and follows it. */
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

  /** Lets an instance that is held come to its end. */
  async complete(held: Held, output = "null", fields: TurnFields = {}): Promise<void> {
    await this.turn(held, {
      events: [completedText(output)],
      change: { kind: "ended", status: "completed", output, error: null },
      ...fields,
    });
  }

  /** A turn that schedules one activity; its sequence is that of the event. */
  async schedule(held: Held, fields: Partial<NewTask> = {}): Promise<TaskAddress> {
    const sequence = held.lastEvent + 1;
    const task = newTask({ ...fields, sequence });
    await this.turn(held, { events: [scheduledText(task.name)], tasks: [task] });
    return { key: held.key, execution: held.execution, sequence };
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

  /** Leases, and expects that this is the one instance to be had. */
  async leaseOnly(
    id: string,
    owner: string = BETA,
    fields: Partial<LeaseInstancesRequest> = {},
  ): Promise<LeasedInstance> {
    const { instances } = await this.lease(owner, fields);
    expect(instances.map((instance) => instance.id)).toEqual([id]);
    return instances[0] as LeasedInstance;
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

  /** Leases tasks, and expects that there is exactly one. */
  async leaseOneTask(
    owner: string = BETA,
    fields: Partial<LeaseTasksRequest> = {},
  ): Promise<LeasedTask> {
    const { tasks } = await this.leaseTasks(owner, fields);
    expect(tasks).toHaveLength(1);
    return tasks[0] as LeasedTask;
  }

  /** What is due for an instance that is held. */
  async due(held: Held, messagesMax = 100): Promise<readonly Message[]> {
    const taken = await this.provider.takeMessages([held.key], messagesMax);
    return taken.get(held.key) ?? [];
  }

  async read(id: string): Promise<InstanceRecord> {
    const record = await this.provider.readInstance(id);
    expect(record, `the instance "${id}"`).not.toBeNull();
    return record as InstanceRecord;
  }

  /** The events of an execution, decoded, which also proves that they are dense (I4). */
  async events(held: Pick<Held, "key" | "execution">): Promise<HistoryEvent[]> {
    const { key, execution } = held;
    const rows = await this.provider.readHistory({ key, execution });
    expect(rows[0]?.first ?? 1).toBe(1);
    return decodeHistory(rows);
  }

  async inboxKinds(key: number): Promise<string[]> {
    return (await this.provider.readInbox(key)).map((message) => message.kind);
  }

  /** The runtime's death, known for certain. */
  async die(owner: string): Promise<void> {
    const result = await this.provider.expireRuntime({ id: owner, staleMs: null });
    expect(result.expired).toBe(true);
  }

  /** Waits for a call that may need virtual time to pass, as one that retries does. */
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
