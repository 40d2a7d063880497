// The end of a run: everything that was written is read once more, and nothing may be left lying about.

import type { Orchestration } from "../../core/definitions.ts";
import { decodeHistory } from "../../core/history-row.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { attemptFaults, type EndedExecution } from "./invariants/attempts.ts";
import { childFaults } from "./invariants/children.ts";
import { replayFault } from "./invariants/replay.ts";
import { earlyAttempts } from "./invariants/timers.ts";
import type { SimulatedProcess } from "./machine.ts";
import type { EndedInstance, Play } from "./workload.ts";
import type { World } from "./world.ts";

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
    world.report(what.startsWith("16") ? "I16" : "I19", what.slice(4));
  }
  // A clock that went back makes early what was not.
  if (!world.scenario.faults.kinds.includes("clock")) {
    for (const what of earlyAttempts(executions, ledger)) world.report("I10", what);
  }
  for (const what of childFaults(executions, (id) => inspector.snapshots.last(id))) {
    world.report("I14", what);
  }
  lostAcknowledgements(world, end);
  infrastructureFaults(world, end);
  await replays(world, play, end, executions);
  await leftovers(world);
}

/** What a client was told is done, is. */
function lostAcknowledgements(world: World, end: ReadonlyMap<string, EndedInstance>): void {
  for (const { kind, id } of world.ledger.acknowledged) {
    if (!end.has(id)) world.report("lost", `${kind} ${id} was acknowledged and is nowhere`);
  }
}

/** No fault of store, network, process or deployment ends an instance (P6). */
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
    if (definition.kind === "orchestration") {
      definitions.set(`${definition.name}@${definition.version}`, definition);
    }
  }
  for (const { id, execution, events } of executions) {
    const [started] = events;
    if (started?.kind !== "OrchestrationStarted") continue;
    const definition = definitions.get(`${started.name}@${started.orchestrationVersion}`);
    const priority = end.get(id)?.record.priority ?? 3;
    if (definition === undefined) continue; // it was ended before anybody ran it
    const fault = await replayFault({ id, execution, priority, events, definition });
    if (fault !== null) world.report("I11", `${id}#${execution}: ${fault}`);
  }
}

/** Registers the newest code, and never runs anything. */
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
    if (world.stopped.has(id)) world.report("I20", `runtime ${id} stopped and is still registered`);
  }
  for (const id of snapshots.ids) {
    const snapshot = snapshots.last(id);
    if (snapshot === null || !isTerminalStatus(snapshot.record.status)) continue;
    const { record, inbox, tasks } = snapshot;
    if (record.owner !== null) world.report("I20", `${id} ended and is leased to ${record.owner}`);
    for (const task of tasks) world.report("I20", `${id} ended and has the task ${task.sequence}`);
    for (const { kind } of inbox) {
      if (kind !== "event") world.report("I20", `${id} ended and has a message: ${kind}`);
    }
  }
}
