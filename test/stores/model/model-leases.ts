// Leases in the model: which runtime gets which instances and tasks, and what happens to the leases of a runtime.

import type {
  ExpireRequest,
  ExpireResult,
  LeasedInstance,
  LeasedInstances,
  LeasedTasks,
  LeaseInstancesRequest,
  LeaseTasksRequest,
  RuntimeRegistration,
} from "../../../src/core/provider/index.ts";
import { blameFor, type Blame } from "../../../src/core/provider/shared/blame.ts";
import { countDeath } from "./model-claims.ts";
import { releaseLease } from "./model-endings.ts";
import {
  AGEING_MS,
  dueOf,
  isLive,
  targetOf,
  toLeasedTask,
  type ModelInstance,
  type ModelStore,
  type ModelTask,
} from "./model-store.ts";

interface InLine {
  readonly instance: ModelInstance;
  readonly rank: number;
  /** Within a cut, the contract also defines the order of equal ranks. */
  readonly cut: string;
}

export function leaseInstances(store: ModelStore, request: LeaseInstancesRequest): LeasedInstances {
  const { now } = store;
  const { owner, token, limit, busy = 0, allowSuspect, leaseMs, messagesMax } = request;
  const all = [...store.instances.values()];
  const fresh = (instance: ModelInstance): LeasedInstance => ({
    ...described(instance),
    ...{ suspicion: instance.suspicion - 1, fresh: true },
    messages: dueOf(instance, now, messagesMax),
    history: instance.history.get(instance.record.execution) ?? [],
  });
  if (request.again === true) {
    const taken = all.filter(({ lease }) => lease?.owner === owner && lease.token === token);
    if (taken.length > 0) return { instances: taken.map(fresh), more: true, nextAt: null };
  }
  const chosen: ModelInstance[] = [];
  const countFree = (some: readonly ModelInstance[]): number =>
    some.filter(({ lease }) => lease?.owner !== owner).length;
  let suspects = 0;
  let alone: ModelInstance | null = null;
  let more = false;
  for (const { instance } of line(store, request)) {
    if (alone !== null) {
      more = true;
      break;
    }
    if (instance.lease?.owner !== owner && instance.suspicion > 0) {
      if (!allowSuspect) continue;
      suspects += 1;
      if (!chosen.some(({ lease }) => lease?.owner !== owner)) alone = instance;
    } else if (countFree(chosen) >= limit || chosen.length >= limit + busy) {
      more = true;
      break;
    } else {
      chosen.push(instance);
    }
  }
  if (alone !== null) more ||= chosen.length > 0;
  else more ||= suspects > 0;
  const handed = alone === null ? chosen : [alone];
  const instances = handed.map((instance): LeasedInstance => {
    if (instance.lease?.owner === owner) {
      const messages = dueOf(instance, now, messagesMax);
      return { ...described(instance), fresh: false, messages, history: [] };
    }
    instance.lease = { owner, token, until: leaseMs === undefined ? null : now + leaseMs };
    instance.suspicion += 1;
    return fresh(instance);
  });
  const waiting = all.filter((each) => isLive(each) && request.targets.includes(targetOf(each)));
  const later = waiting.flatMap(({ inbox }) => inbox.map(({ visibleAt }) => visibleAt));
  return { instances, more, nextAt: earliest(later.filter((at) => at > now)) };
}

/** Whether two instances have equal ranks whose order the contract leaves open. */
export function hasTies(store: ModelStore, request: LeaseInstancesRequest): boolean {
  const inLine = line(store, request);
  return inLine.some(({ rank, cut }, index) =>
    inLine.some((other, position) => {
      if (position === index || other.rank !== rank) return false;
      return other.cut !== cut || cut === "stranded";
    }),
  );
}

/** All instances that this owner could get, in order. */
function line(store: ModelStore, request: LeaseInstancesRequest): InLine[] {
  const { owner, targets, heldBack = [], ageingMs = AGEING_MS } = request;
  const { now } = store;
  if (!store.runtimes.has(owner)) return [];
  const takeable = [...store.instances.values()].filter((instance) => {
    const { record, blockedBy } = instance;
    if (record.paused !== null || !isLive(instance) || blockedBy.has(owner)) return false;
    return targets.includes(targetOf(instance));
  });
  const isOver = ({ lease }: ModelInstance): boolean =>
    lease === null || (lease.until !== null && lease.until <= now);
  const due = takeable.flatMap((instance): InLine[] => {
    const due = dueOf(instance, now);
    if (due.length === 0) return [];
    if (!isOver(instance) && instance.lease?.owner !== owner) return [];
    const { priority, status } = instance.record;
    const isHeldBack = heldBack.some(
      (cut) => cut.target === targetOf(instance) && cut.priority === priority,
    );
    if (isHeldBack && status === "pending") return [];
    const isPending = due.some(({ kind }) => kind === "start"); // then the start message stands for the events
    const ready = due.filter(({ kind }) => !isPending || kind !== "event");
    const since = Math.min(...ready.map(({ visibleAt }) => visibleAt));
    const rank = since + priority * ageingMs;
    return [{ instance, rank, cut: `${targetOf(instance)}:${priority}` }];
  });
  // A lease that expired with open steps: no message wakes the instance.
  const stranded = takeable.flatMap((instance): InLine[] => {
    const { lease, stepsOpen } = instance;
    if (!stepsOpen || lease === null || lease.owner === owner || !isOver(instance)) return [];
    if (dueOf(instance, now).length > 0) return [];
    return [{ instance, rank: lease.until ?? 0, cut: "stranded" }];
  });
  return [...due.sort(byRank), ...stranded.sort(byRank)];
}

function byRank(a: InLine, b: InLine): number {
  return a.rank - b.rank || a.instance.record.key - b.instance.record.key;
}

function described(
  instance: ModelInstance,
): Omit<LeasedInstance, "fresh" | "messages" | "history"> {
  const { key, id, runId, name, version, execution, lastEvent, priority } = instance.record;
  const { copiedUntil, blocked } = instance.record;
  const { suspicion, stepsOpen, lease } = instance;
  const token = lease?.token ?? 0;
  const identity = { key, id, runId, name, version, execution };
  const past = { lastEvent, copiedUntil, suspicion, blocked, stepsOpen };
  return { ...identity, token, priority, ...past };
}

/** How many suspect tasks a runtime tries together (semantics 13). */
const TRIED_TOGETHER = 16;

export function leaseTasks(store: ModelStore, request: LeaseTasksRequest): LeasedTasks {
  const { now } = store;
  const { owner, token, names, limit, allowSuspect, avoidMs = 0, leaseMs } = request;
  const { ageingMs = AGEING_MS, suspectsHeld = 0 } = request;
  const all = [...store.instances.values()].flatMap((instance) =>
    instance.tasks.map((task) => ({ instance, task })),
  );
  const rankOf = ({ availableAt, priority }: ModelTask): number =>
    availableAt + priority * ageingMs;
  if (request.again === true) {
    const taken = all.filter(
      ({ task: { lease } }) => lease?.owner === owner && lease.token === token,
    );
    const tasks = taken.toSorted((a, b) => rankOf(a.task) - rankOf(b.task));
    if (tasks.length > 0) {
      const leased = tasks.map(({ instance, task }) => toLeasedTask(instance, task));
      return { tasks: leased, more: true, nextAt: null };
    }
  }
  if (!store.runtimes.has(owner)) return { tasks: [], more: false, nextAt: null };
  const later: number[] = [];
  const waiting = all.flatMap(({ instance, task }) => {
    const { lease, availableAt } = task;
    if (!names.includes(task.name)) return [];
    if (lease !== null) {
      if (!allowSuspect || lease.until === null || lease.until > now) return [];
      const rank = lease.until + task.priority * ageingMs;
      return [{ instance, task, rank, isSuspect: true, isAlone: true, isOverdue: true }];
    }
    if (task.suspect && !allowSuspect) return [];
    const avoided = task.avoid === owner ? avoidMs : 0;
    if (availableAt > now) later.push(availableAt);
    else if (avoided > 0 && availableAt + avoided > now) later.push(availableAt + avoided);
    else {
      const { suspect: isSuspect } = task;
      const isAlone = isSuspect && task.deaths > 1;
      return [{ instance, task, rank: rankOf(task), isSuspect, isAlone, isOverdue: false }];
    }
    return [];
  });
  const inOrder = waiting.toSorted(
    (a, b) =>
      a.rank - b.rank ||
      a.instance.record.key - b.instance.record.key ||
      a.task.sequence - b.task.sequence,
  );
  const suspects = inOrder.filter(({ isSuspect }) => isSuspect);
  const firstAlone = suspects.findIndex(({ isAlone }) => isAlone);
  const together = (firstAlone < 0 ? suspects : suspects.slice(0, firstAlone)).slice(
    0,
    Math.max(TRIED_TOGETHER - suspectsHeld, 0),
  );
  const tried = firstAlone === 0 && suspectsHeld === 0 ? suspects.slice(0, 1) : together;
  const takeable = inOrder.filter((each) => !each.isSuspect || tried.includes(each));
  const tasks = takeable.slice(0, limit).map(({ instance, task, isOverdue }) => {
    if (isOverdue) {
      const held = heldBy(store, task.lease?.owner ?? "");
      // Tasks that this request takes do not count as held by the owner before.
      const earlier = held.tasks.filter(({ lease }) => lease?.token !== token);
      countDeath(task, blameOf({ ...held, tasks: earlier }));
      task.availableAt = now;
    }
    task.lease = { owner, token, until: leaseMs === undefined ? null : now + leaseMs };
    return toLeasedTask(instance, task);
  });
  return { tasks, more: takeable.length > limit, nextAt: earliest(later) };
}

function earliest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times);
}

export function registerRuntime(store: ModelStore, registration: RuntimeRegistration): void {
  const { now } = store;
  const unchecked = { leasesCheckedAt: null, strandedLeases: 0 };
  const record = { ...registration, startedAt: now, beatAt: now, note: null, ...unchecked };
  store.runtimes.set(registration.id, record);
}

export function beat(store: ModelStore, id: string): boolean {
  const runtime = store.runtimes.get(id);
  if (runtime === undefined) return false;
  store.runtimes.set(id, { ...runtime, beatAt: store.now });
  return true;
}

export function expireRuntime(store: ModelStore, request: ExpireRequest): ExpireResult {
  const { id, staleMs } = request;
  const beatAt = store.runtimes.get(id)?.beatAt ?? Infinity;
  const isSilent = staleMs === null || beatAt <= store.now - staleMs;
  const isGone = store.runtimes.has(id) && isSilent && beatAt <= (request.beatAt ?? Infinity);
  if (!isGone) return { expired: false, instances: 0, tasks: 0 };
  store.runtimes.delete(id);
  const { instances, tasks } = heldBy(store, id);
  const blame = blameOf({ instances, tasks });
  for (const instance of instances) {
    instance.lease = null; // the suspicion stays if the instance is to blame
    const isToBlame = instance.stepsOpen ? blame.steps : blame.turns;
    if (instance.suspicion > 1 && !isToBlame) instance.suspicion--;
    if (instance.stepsOpen) store.wake(instance);
  }
  for (const task of tasks) {
    countDeath(task, blame);
    Object.assign(task, { lease: null, availableAt: store.now });
  }
  return { expired: true, instances: instances.length, tasks: tasks.length };
}

function blameOf({ instances, tasks }: ReturnType<typeof heldBy>): Blame {
  return blameFor({
    suspects: instances.filter(({ suspicion }) => suspicion > 1).length,
    unproven: instances.filter(({ suspicion }) => suspicion > 0).length,
    stepping: instances.filter(({ stepsOpen }) => stepsOpen).length,
    restepping: instances.filter(({ stepsOpen, suspicion }) => stepsOpen && suspicion > 0).length,
    marked: tasks.filter(({ deaths }) => deaths > 0).length,
    trials: tasks.filter(({ suspect }) => suspect).length,
  });
}

export function removeRuntime(store: ModelStore, id: string): void {
  store.runtimes.delete(id);
  const { instances, tasks } = heldBy(store, id);
  for (const instance of instances) releaseLease(store, instance);
  for (const task of tasks) task.lease = null;
}

function heldBy(
  store: ModelStore,
  id: string,
): { readonly instances: ModelInstance[]; readonly tasks: ModelTask[] } {
  const all = [...store.instances.values()];
  const instances = all.filter(({ lease }) => lease?.owner === id);
  const tasks = all.flatMap((instance) =>
    instance.tasks.filter((task) => task.lease?.owner === id),
  );
  return { instances, tasks };
}
