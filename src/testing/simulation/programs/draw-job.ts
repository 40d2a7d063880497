// Drawing jobs: a program, when it is started, and what else happens to it.

import type { Chance } from "../chance.ts";
import type { FaultKind } from "../faults.ts";
import type { PlanFrame } from "../scenario.ts";
import { drawProgram, type DrawFrame } from "./draw-program.ts";
import { eventsIn, type Control, type Job } from "./jobs.ts";
import { partsOf, type Program } from "./program.ts";

/** More activities than this never wait for one another in any plan. */
const ENDLESS_MAX = 100;

/** A client that waits looks once a second: too often where a unit is long. */
const AWAIT_UNIT_MAX_MS = 5_000;

/** Faults by which a task may lose its owner again and again: it is then tried alone, and must come to an end. */
export const MAY_ROB: readonly FaultKind[] = [
  ...(["crash", "poison", "pause", "clock", "slow", "storeDown", "diskFull"] as const),
  ...(["failBefore", "failAfter", "deploy", "partition"] as const),
];

export function drawJob(
  chance: Chance,
  id: string,
  frame: PlanFrame,
  extras: DrawFrame["extras"],
): Job {
  const { unitMs, calmAtMs, faults } = frame;
  let names = 0;
  const name = (prefix: string): string => `${id}.${prefix}${++names}`;
  const slots = Math.min(...frame.workers.map((worker) => worker.activityConcurrency ?? 500));
  const mayBeEndless = slots > ENDLESS_MAX && !faults.some((kind) => MAY_ROB.includes(kind));
  const drawing = { unitMs, faults, name, extras, mayWaitForEvents: true, mayBeEndless };
  const rounds = Array.from({ length: chance.pick([1, 1, 1, 2, 3]) }, () =>
    drawProgram(chance, drawing, 3),
  );
  const startAtMs = chance.below(calmAtMs / 3);
  const at = (): number => startAtMs + chance.below(calmAtMs / 2);
  const end = chance.likely(0.15) ? "throw" : "return";
  const undo = chance.likely(0.25) ? [chance.below(100), chance.below(100)] : [];
  const raises = rounds.flatMap(eventsIn).flatMap(({ name: event, count }): Control[] => {
    const times = Array.from({ length: count }, at).sort((a, b) => a - b);
    return times.map((atMs, value) => ({ kind: "raise", atMs, name: event, value }));
  });
  const others = drawControls(chance, at, unitMs);
  const canRestart = raises.length === 0 && others.length === 0 && !rounds.some(namesChildren);
  return {
    id,
    slot: chance.below(frame.workers.length + frame.clients),
    startAtMs,
    delayMs: chance.likely(0.15) ? chance.below(3 * unitMs) : null,
    priority: chance.between(1, 5),
    version: drawVersion(chance, frame),
    input: { rounds, undo, end },
    controls: [...raises, ...others].sort((a, b) => a.atMs - b.atMs),
    ahead: drawAhead(chance, raises.length),
    startsTwice: chance.pick([null, null, null, "fail", "useExisting"]),
    awaits: unitMs <= AWAIT_UNIT_MAX_MS && chance.likely(0.3),
    restarts: canRestart && chance.likely(0.2),
  };
}

function drawControls(chance: Chance, at: () => number, unitMs: number): readonly Control[] {
  const fate = chance.below(10);
  const atMs = at();
  if (fate === 0) return [{ kind: "cancel", atMs }];
  if (fate === 1) return [{ kind: "terminate", atMs }];
  if (fate > 3) return [];
  return [
    { kind: "pause", atMs },
    { kind: "resume", atMs: atMs + chance.below(6 * unitMs) },
  ];
}

function drawAhead(chance: Chance, raises: number): Job["ahead"] {
  const count = chance.between(1, 3);
  const how = chance.pick(["kept", "started"] as const);
  return raises > 0 && chance.likely(0.4) ? { count: Math.min(count, raises), how } : null;
}

function drawVersion(chance: Chance, { faults }: PlanFrame): string | null {
  const drawn = chance.pick([null, "1.0.0", "2.0.0"]);
  return drawn === "2.0.0" && !faults.includes("deploy") ? null : drawn;
}

/** A child of a given id can be called once. */
function namesChildren(program: Program): boolean {
  if (program.op === "child" && program.id !== null) return true;
  return partsOf(program).some(namesChildren);
}
