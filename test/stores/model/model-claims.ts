// Whether a lease or a claim is still valid in the model, and how a task is removed.

import type { TaskClaim } from "../../../src/core/provider/index.ts";
import type { Blame } from "../../../src/core/provider/shared/blame.ts";
import type { ModelInstance, ModelStore, ModelTask } from "./model-store.ts";
import { hasValues, settleItems } from "./model-streams.ts";

export function holder(
  store: ModelStore,
  { key, token }: { readonly key: number; readonly token: number },
): ModelInstance | null {
  const found = store.byKey(key);
  return found?.lease?.token === token ? found : null;
}

export function findTask(store: ModelStore, claim: TaskClaim): ModelTask | null {
  const { key, execution, sequence, token } = claim;
  const tasks = store.byKey(key)?.tasks ?? [];
  const found = tasks.find((task) => task.execution === execution && task.sequence === sequence);
  return found?.lease?.token === token ? found : null;
}

/** The task that the outcome under this claim may end. */
export function findFinished(store: ModelStore, claim: TaskClaim): ModelTask | null {
  const owner = store.byKey(claim.key);
  return owner !== undefined && hasValues(owner, claim) ? findTask(store, claim) : null;
}

export function finish(store: ModelStore, claim: TaskClaim): ModelInstance | null {
  const task = findFinished(store, claim);
  const owner = store.byKey(claim.key);
  if (task === null || owner === undefined) return null;
  owner.tasks = owner.tasks.filter((other) => other !== task);
  settleItems(owner, claim);
  return owner;
}

/**
 * Counts an attempt that ended with the death of its process (provider.tasks.4). The second one makes the task a
 * suspect. Without blame, only this attempt has ended.
 */
export function countDeath(task: ModelTask, blame?: Blame): void {
  const { suspect, deaths } = task;
  task.suspect ||= deaths >= 1;
  const isTrialTogether = suspect && deaths === 1;
  const isToBlame = blame === undefined || (suspect ? blame.trials : blame.marked);
  if (deaths > 0 && !isTrialTogether && !isToBlame) return;
  task.deaths += 1;
  task.attempt += 1;
}
