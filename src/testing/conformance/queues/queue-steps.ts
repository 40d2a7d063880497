// Steps of the contract of queues: declares rules, and queues and leases tasks with keys.

import { expect } from "vitest";
import type { LeasedTask, LeaseTasksRequest, QueueRule } from "../../../core/provider/index.ts";
import { ALPHA, BETA, CHARGE, outcomeText } from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** The second queue of the cases; it has no rule. */
export const SHIP = "ship";
export const BOTH: readonly string[] = [CHARGE, SHIP];

/** Declares the rule of CHARGE. */
export async function rule(setup: Setup, declared: QueueRule | null): Promise<void> {
  await setup.provider.declareQueues(ALPHA, [{ name: CHARGE, rule: declared }]);
}

/** Queues tasks in one turn: one per key, in this order. */
export async function queueKeys(
  setup: Setup,
  id: string,
  keys: readonly string[],
  weightOf: (key: string) => number | undefined = () => undefined,
): Promise<void> {
  await setup.holdTasks(id, keys.length, (index) => {
    const key = keys[index] ?? "";
    const weight = weightOf(key);
    return { queueKey: key, ...(weight === undefined ? {} : { weight }) };
  });
}

export function times<Value>(count: number, value: Value): Value[] {
  return Array.from({ length: count }, () => value);
}

/** The tasks that a request leases. */
export async function take(
  setup: Setup,
  limit: number,
  fields: Partial<LeaseTasksRequest> = {},
  owner: string = BETA,
): Promise<readonly LeasedTask[]> {
  return (await setup.leaseTasks(owner, { limit, ...fields })).tasks;
}

/** Leases one task. */
export async function one(setup: Setup): Promise<LeasedTask> {
  const [task] = await take(setup, 1);
  if (task === undefined) throw new Error("A task must be due.");
  return task;
}

export async function retry(setup: Setup, task: LeasedTask, delayMs: number): Promise<void> {
  await setup.commit({ kind: "retry", task, delayMs, failure: "{}" });
}

/** The keys of the tasks that a request leases, in order. */
export async function takeKeys(
  setup: Setup,
  limit: number,
  fields: Partial<LeaseTasksRequest> = {},
): Promise<string[]> {
  return (await take(setup, limit, fields)).map(({ queueKey }) => queueKey ?? "");
}

export async function completeAll(setup: Setup, tasks: readonly LeasedTask[]): Promise<void> {
  const results = await setup.provider.commit(
    tasks.map((task) => ({ kind: "completion", task, outcome: outcomeText(task.sequence) })),
  );
  expect(results.every(({ kind }) => kind === "done")).toBe(true);
}
