// 17. What could run does not wait: once nothing goes wrong any more, whatever is due is taken within a bounded
// time, whoever held it before. A lease that nobody works under is found the same way. Work that was never delayed is
// due whatever its time says: the store's clock may have been set back since it was written.

import { isTerminalStatus } from "../../../core/provider/instances.ts";
import { DELAYED_KINDS } from "../../../core/provider/row-checks.ts";
import type { InstanceSnapshot } from "./snapshot.ts";
import type { World } from "../world.ts";

export async function overdueWork(
  world: World,
  options: { readonly calmAt: number; readonly patienceMs: number },
): Promise<string[]> {
  const { calmAt, patienceMs } = options;
  const now = world.store.now();
  // Code that ends its process does so after calm too, and a runtime tries one suspect at a time.
  const { lastTrialAt, hasTrial } = world.inspector.leases;
  const quietSince = Math.max(calmAt, world.lastDeathAt, hasTrial ? now : lastTrialAt);
  const isOver = (since: number): boolean => now - Math.max(since, quietSince) > patienceMs;
  const longAgoMs = world.timeline.now - patienceMs;
  const tasks = await waitingTasks(world, isOver, longAgoMs);
  const idle = idleLeases(world, isOver, longAgoMs);
  return [...dueInstances(world, now, isOver), ...idle, ...tasks];
}

/**
 * Tasks that nobody takes although nobody has run anything for long. One moment without a run says nothing: a place
 * may have become free just now, and its next task be on its way.
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
    return [`a task ${kind.name} waits (${kind.tags.join()}), and nobody has anything to do`];
  });
}

function dueInstances(world: World, now: number, isOver: (since: number) => boolean): string[] {
  const { snapshots } = world.inspector;
  return snapshots.ids.flatMap((id) => {
    const snapshot = snapshots.last(id);
    if (snapshot === null) return [];
    const { record, inbox } = snapshot;
    if (isTerminalStatus(record.status) || record.paused !== null || record.blocked !== null)
      return [];
    const isAfterDelay = isDelayedStart(snapshot);
    const due = inbox.find((message) => {
      const isDelayed = isAfterDelay || DELAYED_KINDS.some((kind) => kind === message.kind);
      // Events wait for each other: an actor with a backlog takes them one by one.
      const { kind, visibleAt } = message;
      const since = kind === "event" ? Math.max(visibleAt, record.updatedAt) : visibleAt;
      return visibleAt <= now ? isOver(since) : !isDelayed && isOver(-Infinity);
    });
    if (due === undefined) return [];
    const holder = record.owner === null ? "nobody holds it" : `${record.owner} holds it`;
    const waits = now - due.visibleAt;
    if (waits >= 0) return [`${id} has been due (${due.kind}) for ${waits} ms; ${holder}`];
    return [`${id} is due (${due.kind}) in ${-waits} ms although it was never delayed; ${holder}`];
  });
}

/** Whatever comes to an execution that is to begin later waits for its start. */
function isDelayedStart({ record, inbox }: InstanceSnapshot): boolean {
  const start = inbox.find(({ kind }) => kind === "start");
  return start !== undefined && start.visibleAt > record.updatedAt;
}

/** Tasks that somebody holds and nobody has run for long. */
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
    return [`${name} is leased to ${lease.owner}, and nobody runs it`];
  });
}
