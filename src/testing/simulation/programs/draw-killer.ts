// Drawing killers: jobs with a turn or a step that ends its process, first thing or after some ordinary work.

import type { Chance } from "../chance.ts";
import type { PlanFrame } from "../scenario.ts";
import type { Control, Job } from "./jobs.ts";
import type { Program } from "./program.ts";

const LEAD_MAX = 2;

export function drawKiller(chance: Chance, id: string, frame: PlanFrame): Job {
  const { unitMs, calmAtMs, faults, workers, clients } = frame;
  const isChild = chance.likely(0.2);
  const mayBeFixed = faults.includes("deploy") && !isChild && chance.likely(0.5);
  const where = chance.pick(["turn", "step"] as const);
  const kill: Program = { op: "kill", where, fixed: mayBeFixed, salt: chance.below(1_000) };
  const lead = Array.from({ length: chance.between(0, LEAD_MAX) }, () => drawLead(chance, unitMs));
  const op = chance.pick(["sequence", "allSettled"] as const);
  const body: Program = { op, parts: [...lead, kill] };
  const startAtMs = chance.below(calmAtMs / 3);
  const round: Program = isChild ? { op: "child", body, id: `${id}.child`, abandon: false } : body;
  return {
    id,
    slot: chance.below(workers.length + clients),
    startAtMs,
    delayMs: null,
    priority: chance.between(1, 5),
    version: null,
    input: { rounds: [round], undo: [], end: "return" },
    controls: drawControls(chance, startAtMs + chance.below(calmAtMs / 2), unitMs, isChild),
    ahead: null,
    startsTwice: null,
    awaits: false,
    restarts: false,
  };
}

/** Work that brings events, before the kill or while it happens. It never fails: a failure would be its result. */
function drawLead(chance: Chance, unitMs: number): Program {
  const salt = chance.below(1_000);
  const ms = chance.below(3 * unitMs);
  switch (chance.below(3)) {
    case 0:
      return { op: "sleep", ms };
    case 1:
      return { op: "step", salt, ms, fails: 0, attempts: 1 };
    default:
      return { op: "state", key: "lead", value: salt };
  }
}

/** The parent of a killer would wait for the end of its child before it ends. */
function drawControls(
  chance: Chance,
  atMs: number,
  unitMs: number,
  isChild: boolean,
): readonly Control[] {
  const fate = chance.below(10);
  if (fate === 0 && !isChild) return [{ kind: "cancel", atMs }];
  if (fate === 1 && !isChild) return [{ kind: "terminate", atMs }];
  if (fate > 3) return [];
  return [
    { kind: "pause", atMs },
    { kind: "resume", atMs: atMs + chance.below(6 * unitMs) },
  ];
}
