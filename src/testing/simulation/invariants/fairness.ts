// Invariant 17: due work does not wait. After the faults have stopped, a worker leases all due work within
// a bounded time, and no worker holds a lease without running its work. Work without a delay counts as due
// whatever its stored time is: the store's clock may have gone back since.

import { isTerminalStatus } from "../../../core/provider/instances.ts";
import { DELAYED_KINDS } from "../../../core/provider/shared/row-checks.ts";
import type { InstanceSnapshot } from "./snapshot.ts";
import type { World } from "../world/world.ts";

export async function overdueWork(
  world: World,
  options: { readonly calmAt: number; readonly patienceMs: number },
): Promise<string[]> {
  const { calmAt, patienceMs } = options;
  const now = world.store.now();
  // Code may end its process after the faults have stopped, and a runtime runs one suspect at a time.
  const { lastTrialAt, hasTrial } = world.inspector.leases;
  const quietSince = Math.max(calmAt, world.lastDeathAt, hasTrial ? now : lastTrialAt);
  const isOver = (since: number): boolean => now - Math.max(since, quietSince) > patienceMs;
  const longAgoMs = world.timeline.now - patienceMs;
  const tasks = await waitingTasks(world, isOver, longAgoMs);
  const idle = idleLeases(world, isOver, longAgoMs);
  return [...dueInstances(world, now, isOver), ...idle, ...tasks];
}

/**
 * Tasks that no worker leases although no code has run for long. A short moment without runs is normal: a
 * slot may just have become free, and its next task is in flight.
 */
async function waitingTasks(
  world: World,
  isOver: (since: number) => boolean,
  longAgoMs: number,
): Promise<string[]> {
  const alive = new Set(world.alive.map(({ name }) => name));
  const isBusy = world.ledger.runs.some(
    ({ endedAt, process }) => alive.has(process) && (endedAt === null || endedAt > longAgoMs),
  );
  if (isBusy) return [];
  const waiting = await world.store.provider.readWaiting();
  return waiting.flatMap((kind) => {
    if (kind.kind !== "task" || !isOver(kind.oldestAt)) return [];
    return [`a task ${kind.name} waits (${kind.tags.join()}) although all workers are idle`];
  });
}

function dueInstances(world: World, now: number, isOver: (since: number) => boolean): string[] {
  const { snapshots, rewoundAt } = world.inspector;
  return snapshots.ids.flatMap((id) => {
    const snapshot = snapshots.last(id);
    if (snapshot === null) return [];
    const { record, inbox } = snapshot;
    if (isTerminalStatus(record.status) || record.paused !== null || record.blocked !== null)
      return [];
    const isAfterDelay = isDelayedStart(snapshot);
    const due = inbox.find((message) => {
      const isDelayed = isAfterDelay || DELAYED_KINDS.some((kind) => kind === message.kind);
      // Events wait for each other: an actor with a backlog receives them one by one.
      const { kind, visibleAt } = message;
      // A rewind restores timers with their old due times. It may be later than now if the clock went back.
      const restoredAt = Math.min(rewoundAt.get(id) ?? -Infinity, now);
      const since = Math.max(visibleAt, kind === "event" ? record.updatedAt : restoredAt);
      return visibleAt <= now ? isOver(since) : !isDelayed && isOver(-Infinity);
    });
    if (due === undefined) return [];
    const holder = record.owner === null ? "it has no lease" : `${record.owner} holds it`;
    const waits = now - due.visibleAt;
    if (waits >= 0) return [`${id} has been due (${due.kind}) for ${waits} ms; ${holder}`];
    return [`${id} is due (${due.kind}) in ${-waits} ms although it was never delayed; ${holder}`];
  });
}

/** Whether the start of the instance is delayed: then all its messages wait for the start. */
function isDelayedStart({ record, inbox }: InstanceSnapshot): boolean {
  const start = inbox.find(({ kind }) => kind === "start");
  return start !== undefined && start.visibleAt > record.updatedAt;
}

/** Tasks that are leased, but that no worker has run for long. */
function idleLeases(world: World, isOver: (since: number) => boolean, longAgoMs: number): string[] {
  const { inspector, ledger } = world;
  return inspector.leases.taskLeases.flatMap(({ address, lease }) => {
    if (!isOver(lease.since)) return [];
    const id = inspector.snapshots.idOf(address.key);
    const record = id === undefined ? undefined : inspector.snapshots.last(id)?.record;
    if (record === undefined) return [];
    const runs = ledger.runsOf(`${record.runId}:${address.execution}:${address.sequence}`);
    const isBusy = runs.some(
      ({ at, endedAt }) => at >= lease.sinceMs && (endedAt === null || endedAt > longAgoMs),
    );
    if (isBusy) return [];
    const name = `task ${record.id}/${address.sequence}`;
    return [`${name} is leased to ${lease.owner}, but no worker runs it`];
  });
}
