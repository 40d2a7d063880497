// Draws killers: jobs with a turn or a step that ends its process, at once or after some ordinary work.

import type { SeededRandom } from "../world/seeded-random.ts";
import type { PlanFrame } from "../scenario.ts";
import type { Control, Job } from "./jobs.ts";
import type { Program } from "./program.ts";

const LEAD_MAX = 2;

export function drawKiller(random: SeededRandom, id: string, frame: PlanFrame): Job {
  const { unitMs, calmAtMs, faults, workers, clients } = frame;
  const isChild = random.likely(0.2);
  const mayBeFixed = faults.includes("deploy") && !isChild && random.likely(0.5);
  const where = random.pick(["turn", "step"] as const);
  const kill: Program = { op: "kill", where, fixed: mayBeFixed, salt: random.below(1_000) };
  const lead = Array.from({ length: random.between(0, LEAD_MAX) }, () => drawLead(random, unitMs));
  const op = random.pick(["sequence", "allSettled"] as const);
  const body: Program = { op, parts: [...lead, kill] };
  const startAtMs = random.below(calmAtMs / 3);
  const round: Program = isChild ? { op: "child", body, id: `${id}.child`, abandon: false } : body;
  return {
    id,
    slot: random.below(workers.length + clients),
    startAtMs,
    delayMs: null,
    priority: random.between(1, 5),
    version: null,
    input: { rounds: [round], undo: [], end: "return" },
    controls: drawControls(random, startAtMs + random.below(calmAtMs / 2), unitMs, isChild),
    ahead: null,
    startsTwice: null,
    awaits: false,
    restarts: false,
  };
}

/**
 * Work that adds events before or during the kill. It never fails, since a failure would be the job's
 * result.
 */
function drawLead(random: SeededRandom, unitMs: number): Program {
  const salt = random.below(1_000);
  const ms = random.below(3 * unitMs);
  switch (random.below(3)) {
    case 0:
      return { op: "sleep", ms };
    case 1:
      return { op: "step", salt, ms, fails: 0, attempts: 1 };
    default:
      return { op: "state", key: "lead", value: salt };
  }
}

/** Draws the client's calls. The parent of a killer waits for its child before the parent can end. */
function drawControls(
  random: SeededRandom,
  atMs: number,
  unitMs: number,
  isChild: boolean,
): readonly Control[] {
  const fate = random.below(10);
  if (fate === 0 && !isChild) return [{ kind: "cancel", atMs }];
  if (fate === 1 && !isChild) return [{ kind: "terminate", atMs }];
  if (fate > 3) return [];
  return [
    { kind: "pause", atMs },
    { kind: "resume", atMs: atMs + random.below(6 * unitMs) },
  ];
}
