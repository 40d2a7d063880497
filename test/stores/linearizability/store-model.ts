// Adapts the store model (test/stores/model) to the checker. States are values. They are compared without the numbers that
// a store assigns in its own order.
//   - A state maps the numbers of the store to those of the model. An order of calls that maps one number to two is not
//        valid (numbers.1).
//   - store-model.1: On PostgreSQL concurrent lease requests skip rows that another request is taking. A lease request is
//        then one step per item that it took. Items that it skipped prove something only if the answer is empty and
//        reports no more (`apart`). On SQLite a lease request is one step (`whole`).
//   - store-model.2: A store may ignore the first turn of a start (commit.5). The answer says whether it did.

import { isDeepStrictEqual } from "node:util";
import type {
  LeasedInstances,
  LeasedTasks,
  TaskAddress,
} from "../../../src/core/provider/index.ts";
import { answerOfModel, type Call } from "../model/calls.ts";
import { inOrder, ModelStore, type ModelInstance } from "../model/model-store.ts";
import { Numbers } from "../model/numbers.ts";
import type { Model, Operation } from "./checker.ts";

/** A call, or its effect on one instance or task. */
export interface Step {
  readonly call: Call;
  readonly only?: { readonly key: number } | TaskAddress;
}
export interface StoreState {
  readonly store: ModelStore;
  readonly numbers: Numbers;
  readonly now: number;
}

/** An empty model at the given time. */
export function storeModel(now: number): Model<StoreState, Step, unknown> {
  return {
    initial: { store: new ModelStore(() => now), numbers: new Numbers(), now },
    apply(state, { input, output }) {
      const at = state.now + (input.call.method === "advance" ? input.call.ms : 0);
      const store = state.store.copy(() => at);
      const numbers = new Numbers(state.numbers);
      const expected = plain(answer(store, numbers.fromStore(asWritten(input, output))));
      const actual = numbers.toModel(expected, plain(output));
      return isDeepStrictEqual(expected, actual) ? { store, numbers, now: at } : null;
    },
    keyOf: ({ store, numbers, now }) => {
      const instances = [...store.instances.values()].map(withMarkedIds);
      const runtimes = [...store.runtimes.values()];
      const all = { now, instances: byId(instances), runtimes: byId(runtimes), kept: store.kept };
      return JSON.stringify(numbers.shown(JSON.parse(JSON.stringify(all, flat))));
    },
  };
}

/** store-model.2 */
function asWritten(step: Step, output: unknown): Step {
  const { call } = step;
  if (call.method !== "commit") return step;
  const results = output as readonly { readonly due?: unknown }[];
  const items = call.items.map((item, index) => {
    if (item.kind !== "start" || item.firstTurn === undefined) return item;
    if (results[index]?.due !== undefined) return item;
    const { firstTurn: _, ...alone } = item;
    return alone;
  });
  return { ...step, call: { ...call, items } };
}

export function asSteps<Made extends Operation<Call, unknown>>(
  history: readonly Made[],
  leases: "whole" | "apart",
): readonly (Made & Operation<Step, unknown>)[] {
  return history.flatMap((made) => {
    const { input: call, output } = made;
    const whole = [{ ...made, input: { call } }];
    if (leases === "whole" || !isLease(call)) return whole;
    const { instances = [], tasks = [], more } = output as Partial<LeasedInstances & LeasedTasks>;
    const steps: readonly Part[] = [
      ...instances.map((each) => (each.fresh ? takenInstance(call, each) : newsOf(each))),
      ...tasks.map((each) => ({
        ...{ input: { call, only: addressOf(each) }, output: { tasks: [each] } },
      })),
    ];
    if (steps.length === 0) return more === true ? [] : whole;
    return steps.map((part) => ({ ...made, ...part }));
  });
}

type Leased = LeasedInstances["instances"][number];
interface Part {
  readonly input: Step;
  readonly output: unknown;
}

function takenInstance(call: Call, each: Leased): Part {
  return { input: { call, only: { key: each.key } }, output: { instances: [each] } };
}

/** The due messages of an instance that the caller already holds. */
function newsOf({ key, messages }: Leased): Part {
  return { input: { call: { method: "takeMessages", from: { key }, max: 100 } }, output: messages };
}

function isLease({ method }: Call): boolean {
  return method === "leaseInstances" || method === "leaseTasks";
}

function addressOf({ key, execution, sequence }: TaskAddress): TaskAddress {
  return { key, execution, sequence };
}

function answer(store: ModelStore, { call, only }: Step): unknown {
  if (only === undefined) return answerOfModel(store, call);
  const kept = new Map(store.instances);
  const isOther = (task: Omit<TaskAddress, "key">): boolean =>
    "sequence" in only && (task.execution !== only.execution || task.sequence !== only.sequence);
  const target = store.byKey(only.key);
  const others = target?.tasks.filter(isOther) ?? [];
  store.instances.clear();
  if (target !== undefined) {
    target.tasks = target.tasks.filter((task) => !isOther(task));
    store.instances.set(target.record.id, target);
  }
  const { instances, tasks } = answerOfModel(store, call) as Partial<LeasedInstances & LeasedTasks>;
  store.instances = kept;
  target?.tasks.push(...others);
  return instances === undefined ? { tasks } : { instances };
}

/** Messages in order, with their ids in a field that Numbers translates. */
function withMarkedIds(instance: ModelInstance): { readonly id: string; readonly inbox: object } {
  const inbox = inOrder(instance).map(({ id, ...message }) => ({ ...message, consumed: id }));
  return { ...instance, id: instance.record.id, inbox };
}

function byId<Named extends { readonly id: string }>(all: readonly Named[]): readonly Named[] {
  return all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function flat(_: string, value: unknown): unknown {
  if (value instanceof Set) return [...value].toSorted();
  return value instanceof Map ? [...value].toSorted() : value;
}

/** The value as plain JSON: absent and undefined fields are equal. */
function plain(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown);
}
