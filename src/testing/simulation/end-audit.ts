// End audit: after a run, reads all stored data again and checks that no lease, task or runtime is left.

import type { Orchestration } from "../../core/define/definitions.ts";
import { decodeHistory } from "../../core/history/rows.ts";
import { jobOrchestration } from "../../core/replay/job-code.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { attemptFaults, type EndedExecution } from "./invariants/attempts.ts";
import { childFaults } from "./invariants/children.ts";
import { replayFault } from "./invariants/replay.ts";
import { earlyAttempts } from "./invariants/timers.ts";
import type { SimulatedProcess } from "./world/machine.ts";
import type { EndedInstance, Play } from "./world/workload.ts";
import type { InvariantNumber } from "./violation.ts";
import type { World } from "./world/world.ts";

export async function readEnd(world: World): Promise<ReadonlyMap<string, EndedInstance>> {
  const { inspector, store } = world;
  const instances = new Map<string, EndedInstance>();
  for (const id of inspector.snapshots.ids) {
    await inspector.look(id);
    const record = inspector.snapshots.last(id)?.record;
    if (record === undefined) continue;
    const executions = new Map<number, EndedExecution["events"]>();
    for (let execution = 1; execution <= record.execution; execution++) {
      const rows = await store.provider.readHistory({ key: record.key, execution });
      executions.set(execution, decodeHistory(rows));
    }
    instances.set(id, { record, executions });
  }
  return instances;
}

export async function auditEnd(
  world: World,
  play: Play,
  end: ReadonlyMap<string, EndedInstance>,
): Promise<void> {
  const { inspector, ledger } = world;
  const executions = [...end].flatMap(([id, { record, executions: lives }]) =>
    [...lives].map(([execution, events]) => ({ id, key: record.key, execution, events })),
  );
  for (const what of attemptFaults(executions, ledger, inspector.leases, world.forgotten)) {
    world.report(`C${what.slice(0, 2)}` as InvariantNumber, what.slice(4)); // attemptFaults begins with the number
  }
  // If the store's clock went back, a correct attempt can look early.
  if (!world.scenario.faults.kinds.includes("clock")) {
    for (const what of earlyAttempts(executions, ledger)) world.report("C10", what);
  }
  for (const what of childFaults(executions, (id) => inspector.snapshots.last(id))) {
    world.report("C14", what);
  }
  lostAcknowledgements(world, end);
  infrastructureFaults(world, end);
  await replays(world, play, end, executions);
  await leftovers(world);
}

/** Checks that every acknowledged call left its instance in the store. */
function lostAcknowledgements(world: World, end: ReadonlyMap<string, EndedInstance>): void {
  for (const { kind, id } of world.ledger.acknowledged) {
    if (!end.has(id)) world.report("lost", `${kind} ${id} was acknowledged, but does not exist`);
  }
}

/** Checks that no fault of the store, the network, a process or a deployment ended an instance (P6). */
function infrastructureFaults(world: World, end: ReadonlyMap<string, EndedInstance>): void {
  for (const [id, { executions }] of end) {
    const last = [...executions.values()].at(-1)?.at(-1);
    if (last?.kind !== "OrchestrationFailed" || last.failure.category !== "infrastructure")
      continue;
    world.report(
      "infrastructure",
      `${id} was ended by ${last.failure.name}: ${last.failure.message}`,
    );
  }
}

async function replays(
  world: World,
  play: Play,
  end: ReadonlyMap<string, EndedInstance>,
  executions: readonly EndedExecution[],
): Promise<void> {
  const definitions = new Map<string, Orchestration<never, unknown>>();
  for (const definition of play.register(onlooker(world))) {
    const code = definition.kind === "activity" ? jobOrchestration(definition) : definition;
    if (code.kind === "orchestration") definitions.set(`${code.name}@${code.version}`, code);
  }
  for (const { id, execution, events } of executions) {
    const [started] = events;
    if (started?.kind !== "OrchestrationStarted") continue;
    const definition = definitions.get(`${started.name}@${started.orchestrationVersion}`);
    const priority = end.get(id)?.record.priority ?? 3;
    if (definition === undefined) continue; // the instance ended before a worker ran it
    const fault = await replayFault({ id, execution, priority, events, definition });
    if (fault !== null) world.report("C11", `${id}#${execution}: ${fault}`);
  }
}

/** A process for registering the newest code; it never runs anything. */
function onlooker(world: World): SimulatedProcess {
  const generation = Math.max(...world.slots.map((slot) => slot.generation));
  const never = (): Promise<never> => new Promise<never>(() => undefined);
  const { unitMs } = world.scenario;
  return { name: "replay", generation, unitMs, sleep: never, crash: never };
}

async function leftovers(world: World): Promise<void> {
  const { provider } = world.store;
  const { snapshots } = world.inspector;
  for (const { id } of await provider.listRuntimes()) {
    if (world.stopped.has(id))
      world.report("C20", `runtime ${id} has stopped but is still registered`);
  }
  for (const id of snapshots.ids) {
    const snapshot = snapshots.last(id);
    if (snapshot === null || !isTerminalStatus(snapshot.record.status)) continue;
    const { record, inbox, tasks } = snapshot;
    if (record.owner !== null)
      world.report("C20", `${id} has ended but is leased to ${record.owner}`);
    for (const task of tasks)
      world.report("C20", `${id} has ended but still has task ${task.sequence}`);
    for (const { kind } of inbox) {
      if (kind !== "event") world.report("C20", `${id} has ended but still has a message: ${kind}`);
    }
  }
}
