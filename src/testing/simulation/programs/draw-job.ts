// Draws jobs: a program, its start time, and the other calls of its client.

import type { SeededRandom } from "../world/seeded-random.ts";
import type { FaultKind } from "../world/faults.ts";
import type { PlanFrame } from "../scenario.ts";
import { drawProgram, type DrawFrame } from "./draw-program.ts";
import { eventsIn, type Control, type Job } from "./jobs.ts";
import { partsOf, type Program } from "./program.ts";

/** With more slots than this, no activity of a plan waits for a slot, so activities may be endless. */
const ENDLESS_MAX = 100;

/** A waiting client polls once per second, which is too often if a unit is longer than this. */
const AWAIT_UNIT_MAX_MS = 5_000;

/** Faults by which a task may lose its owner repeatedly. The runtime then runs it alone, so it must end. */
export const MAY_LOSE_OWNER: readonly FaultKind[] = [
  ...(["crash", "poison", "pause", "clock", "slow", "storeDown", "diskFull"] as const),
  ...(["failBefore", "failAfter", "deploy", "partition"] as const),
];

export function drawJob(
  random: SeededRandom,
  id: string,
  frame: PlanFrame,
  extras: DrawFrame["extras"],
): Job {
  const { unitMs, calmAtMs, faults } = frame;
  let names = 0;
  const name = (prefix: string): string => `${id}.${prefix}${++names}`;
  const slots = Math.min(...frame.workers.map((worker) => worker.activityConcurrency ?? 500));
  const mayBeEndless = slots > ENDLESS_MAX && !faults.some((kind) => MAY_LOSE_OWNER.includes(kind));
  const drawing = { unitMs, faults, name, extras, mayWaitForEvents: true, mayBeEndless };
  const rounds = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () =>
    drawProgram(random, drawing, 3),
  );
  const startAtMs = random.below(calmAtMs / 3);
  const at = (): number => startAtMs + random.below(calmAtMs / 2);
  const end = random.likely(0.15) ? "throw" : "return";
  const undo = random.likely(0.25) ? [random.below(100), random.below(100)] : [];
  const raises = rounds.flatMap(eventsIn).flatMap(({ name: event, count }): Control[] => {
    const times = Array.from({ length: count }, at).sort((a, b) => a - b);
    return times.map((atMs, value) => ({ kind: "raise", atMs, name: event, value }));
  });
  const others = drawControls(random, at, unitMs);
  const canRestart = raises.length === 0 && others.length === 0 && !rounds.some(namesChildren);
  return {
    id,
    slot: random.below(frame.workers.length + frame.clients),
    startAtMs,
    delayMs: random.likely(0.15) ? random.below(3 * unitMs) : null,
    priority: random.between(1, 5),
    version: drawVersion(random, frame),
    input: { rounds, undo, end },
    controls: [...raises, ...others].sort((a, b) => a.atMs - b.atMs),
    ahead: drawAhead(random, raises.length),
    startsTwice: random.pick([null, null, null, "fail", "useExisting"]),
    awaits: unitMs <= AWAIT_UNIT_MAX_MS && random.likely(0.3),
    restarts: canRestart && random.likely(0.2),
  };
}

function drawControls(random: SeededRandom, at: () => number, unitMs: number): readonly Control[] {
  const fate = random.below(10);
  const atMs = at();
  if (fate === 0) return [{ kind: "cancel", atMs }];
  if (fate === 1) return [{ kind: "terminate", atMs }];
  if (fate > 3) return [];
  return [
    { kind: "pause", atMs },
    { kind: "resume", atMs: atMs + random.below(6 * unitMs) },
  ];
}

function drawAhead(random: SeededRandom, raises: number): Job["ahead"] {
  const count = random.between(1, 3);
  const how = random.pick(["kept", "started"] as const);
  return raises > 0 && random.likely(0.4) ? { count: Math.min(count, raises), how } : null;
}

function drawVersion(random: SeededRandom, { faults }: PlanFrame): string | null {
  const drawn = random.pick([null, "1.0.0", "2.0.0"]);
  return drawn === "2.0.0" && !faults.includes("deploy") ? null : drawn;
}

/** Whether the program starts a child with a given id; such a child can be started only once. */
function namesChildren(program: Program): boolean {
  if (program.op === "child" && program.id !== null) return true;
  return partsOf(program).some(namesChildren);
}
