// The model of the store (test/model) as the checker wants it: states are values, compared without the numbers that
// a store gives by its own order.
//   SM1. A state knows which of the store's numbers its own are; an order of calls that gives one number two meanings
//        is none (NU1).
//   SM2. Where many lease at the same time, each passes over what another is just taking: a lease is then one step for
//        each thing that it took, and what it did not take proves something only if it took nothing and knew of
//        nothing (`apart`). Where leases wait for each other they are one step.

import { isDeepStrictEqual } from "node:util";
import type { LeasedInstances, LeasedTasks, TaskAddress } from "../../src/core/provider/index.ts";
import { answerOfModel, type Call } from "../model/calls.ts";
import { inOrder, ModelStore, type ModelInstance } from "../model/model-store.ts";
import { Numbers } from "../model/numbers.ts";
import type { Model, Operation } from "./checker.ts";

/** A call, or what it did to one thing. */
export interface Step {
  readonly call: Call;
  readonly only?: { readonly key: number } | TaskAddress;
}
export interface StoreState {
  readonly store: ModelStore;
  readonly numbers: Numbers;
  readonly now: number;
}

/** The model at that time, with nothing in it. */
export function storeModel(now: number): Model<StoreState, Step, unknown> {
  return {
    initial: { store: new ModelStore(() => now), numbers: new Numbers(), now },
    apply(state, { input, output }) {
      const at = state.now + (input.call.method === "advance" ? input.call.ms : 0);
      const store = state.store.copy(() => at);
      const numbers = new Numbers(state.numbers);
      const expected = plain(answer(store, numbers.fromStore(input)));
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

/** What is due for one that the caller holds already. */
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

/** Messages in their order, their numbers where Numbers takes them for such. */
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

/** As it was said; what is absent and what is undefined are the same. */
function plain(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown);
}
