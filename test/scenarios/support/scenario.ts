// Scenarios: user code and the events that happen to it. Each scenario runs in three modes with equal results.
//   hot: as in production, with live coroutines in the cache.
//   cold: without a cache; every turn replays its history from the start.
//   shadow: hot, with a replay in addition to every turn. It needs nothing of a store that the other modes do not need, so
//        PostgreSQL runs it only with PERDURE_FULL.
// At the end of each mode the harness checks these rules:
//   - The modes leave the same data in the store, event by event (I5). snapshot.ts lists the exceptions.
//   - Every history satisfies the invariants. The registered code replays it to its recorded end.
//   - No instance is blocked, unless the scenario lists it in `blocked`.
//   - An ended instance has no tasks, and no messages except unread events. A running instance with registered
//        code has no due messages; a due message here means a lost wake-up.

import { expect, test } from "vitest";
import type { InstanceInfo, RuntimeOptions } from "../../../src/index.ts";
import { TEST_STORE } from "../../support/test-store.ts";
import { faults } from "./invariants.ts";
import { replay } from "./replay-check.ts";
import { comparable, takeSnapshot, type Snapshot } from "./snapshot.ts";
import { World, type Definitions, type LogLine } from "./world.ts";

export interface Scenario {
  readonly register: Definitions;
  readonly run: (t: World) => Promise<void>;
  readonly runtime?: RuntimeOptions;
  /** Default "memory". */
  readonly store?: "memory" | "file";
  /** Ids of instances that the scenario leaves blocked on purpose. */
  readonly blocked?: readonly string[];
  /** Ids of instances whose histories no longer match the code registered last. */
  readonly outdated?: readonly string[];
  /** Which results may differ between the modes, and why. By default none may differ. */
  readonly differs?: { readonly in: "times and logs" | "everything"; readonly because: string };
}

const MODES: Readonly<Record<string, RuntimeOptions>> = {
  hot: { shadowReplay: "never" },
  cold: { shadowReplay: "never", stickyCacheMax: 0 },
  ...(TEST_STORE === "sqlite" || process.env["PERDURE_FULL"] === "1"
    ? { shadow: { shadowReplay: "always" } }
    : {}),
};

/** A scenario with state is passed as a function, which is called once per mode. */
export function scenario(title: string, make: Scenario | ((t: World) => Scenario)): void {
  test(title, async () => {
    const left = new Map<string, unknown>();
    for (const [mode, modeOptions] of modes()) {
      const world = new World({ mode, modeOptions });
      const plan = typeof make === "function" ? make(world) : make;
      try {
        left.set(mode, await inMode(mode, world, plan));
      } finally {
        await world.close();
      }
    }
    const hot = left.get("hot");
    if (hot === undefined) return;
    for (const [mode, found] of left) expect(found, `${mode} compared with hot`).toEqual(hot);
  });
}

/** Under mutation only "shadow": it runs both the live code and its replay, in a third of the time. */
function modes(): readonly (readonly [string, RuntimeOptions])[] {
  const all = Object.entries(MODES);
  return process.env["PERDURE_MUTATION_PART"] === undefined
    ? all
    : all.filter(([mode]) => mode === "shadow");
}

async function inMode(mode: string, world: World, plan: Scenario): Promise<unknown> {
  try {
    await world.open({
      store: plan.store ?? "memory",
      register: plan.register,
      runtime: plan.runtime ?? {},
    });
    await plan.run(world);
    await world.settle();
    const snapshot = await takeSnapshot(world.client, world.started);
    await check(world, plan, snapshot);
    const left = comparable(snapshot);
    if (plan.differs?.in === "everything") return null;
    if (plan.differs?.in === "times and logs") return withoutTimes(left);
    return { instances: left, logs: linesByInstance(world.logs) };
  } catch (error) {
    if (error instanceof Error) error.message = `[${mode}] ${error.message}`;
    throw error;
  }
}

async function check(world: World, plan: Scenario, snapshot: Snapshot): Promise<void> {
  for (const [id, { info, executions }] of snapshot) {
    const isBlocked = plan.blocked?.includes(id) ?? false;
    expect(info.blocked?.message, `block of ${id}`).toEqual(
      isBlocked ? expect.any(String) : undefined,
    );
    for (const [execution, events] of executions) {
      const where = `execution ${execution} of ${id}`;
      expect(faults(events), where).toEqual([]);
      if (isBlocked || plan.outdated?.includes(id) === true || events.length === 0) continue;
      const [started] = events;
      if (started?.kind !== "OrchestrationStarted") continue;
      const version = started.orchestrationVersion || (info.version ?? "");
      const definition = world.definitions.get(`${started.name}@${version}`);
      if (definition?.kind !== "orchestration") continue;
      const replayed = await replay(definition, info, execution, events);
      expect(replayed.blocked, `replay of ${where}`).toBeNull();
      expect(replayed.end, `end of ${where}`).toEqual(replayed.recordedEnd);
      if (execution !== info.execution || info.completedAt !== undefined) continue;
      const open = info.waitingFor.map(({ kind, sequence }) => `${kind} ${sequence}`);
      expect(open, `open tasks of ${where}`).toEqual(replayed.open);
    }
    if (!isBlocked) await checkRest(world, info);
  }
}

async function checkRest({ store, process, now }: World, info: InstanceInfo): Promise<void> {
  const { id, execution } = info;
  const key = (await store.readInstance(id))?.key ?? 0;
  const messages = await store.readInbox(key);
  if (info.completedAt !== undefined) {
    expect(await store.readTasks({ key, execution }), `tasks of ${id}, which ended`).toEqual([]);
    const leftovers = messages.filter((message) => message.kind !== "event");
    expect(leftovers, `messages to ${id}, which ended`).toEqual([]);
    return;
  }
  const versions = process.perdure.runtime.registered().orchestrations[info.name] ?? [];
  if (info.version === undefined ? versions.length === 0 : !versions.includes(info.version)) return;
  const due = messages.filter((message) => message.visibleAt <= now());
  expect(due, `due messages to ${id}`).toEqual([]);
}

/** Lines of different instances may be interleaved differently. */
function linesByInstance(logs: readonly LogLine[]): Record<string, readonly string[]> {
  const lines: Record<string, string[]> = {};
  for (const { level, message, instance } of logs) {
    // The log level of a takeover depends on the leases of the dead runtime, and only a hot runtime holds idle instances.
    if (message.endsWith("; took over")) continue;
    (lines[String(instance)] ??= []).push(`${level} ${message}`);
  }
  return lines;
}

const TIMES: ReadonlySet<string> = new Set([
  "at",
  "availableAt",
  "completedAt",
  "createdAt",
  "due",
  "ran",
  "since",
  "updatedAt",
]);

function withoutTimes(value: unknown): unknown {
  const text = JSON.stringify(value, (key, part: unknown) => (TIMES.has(key) ? undefined : part));
  return JSON.parse(text);
}
