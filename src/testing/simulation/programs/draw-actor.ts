// Draws actors and large jobs: instances with many executions and many waiting messages, and instances with
// values about as large as a commit group. Few seeds have them: each costs as much time as an ordinary seed.

import type { SeededRandom } from "../world/seeded-random.ts";
import type { PlanFrame } from "../scenario.ts";
import type { Control, Job } from "./jobs.ts";
import type { Program } from "./program.ts";

const BACKLOG_MIN = 100;
const BACKLOG_MAX = 300;
/**
 * The maximum number of messages that a client raises one by one; each is a store call with an inspection.
 */
const RAISED_MAX = 12;
/** The maximum time from the start to a cancel, so that most cancels meet an actor with messages. */
const CANCEL_MS_MAX = 2_000;
const LARGE_BYTES: readonly number[] = [250_000, 262_144, 300_000, 999_000, 1_001_000, 1_050_000];
const LARGE_BYTES_MAX = 1_050_000;

export function drawActor(random: SeededRandom, id: string, frame: PlanFrame): Job {
  const { unitMs, calmAtMs } = frame;
  const startAtMs = random.below(calmAtMs / 3);
  const isMailbox = random.likely(0.7);
  const name = `${id}.message`;
  const count = random.between(BACKLOG_MIN, BACKLOG_MAX);
  const perExecution = random.pick([1, 1, 1, 2, 7]);
  const raisedLater = random.between(0, RAISED_MAX);
  const round: Program = isMailbox
    ? { op: "mailbox", name, count, perExecution }
    : { op: "spin", times: count };
  const times = Array.from({ length: raisedLater }, () => startAtMs + random.below(6 * unitMs));
  const ahead = Array.from({ length: count - raisedLater }, () => 0);
  const raises = [...ahead, ...times.sort((a, b) => a - b)].map((atMs, value): Control => ({
    kind: "raise",
    atMs,
    name,
    value,
  }));
  const controls = drawControls(random, startAtMs, unitMs);
  return {
    ...plainJob(random, id, frame, startAtMs),
    input: { rounds: [round], undo: [], end: "return" },
    controls: [...(isMailbox ? raises : []), ...controls].sort((a, b) => a.atMs - b.atMs),
    ahead: isMailbox ? { count: ahead.length, how: "started" } : null,
  };
}

export function drawLargeJob(random: SeededRandom, id: string, frame: PlanFrame): Job {
  const { unitMs, calmAtMs } = frame;
  const startAtMs = random.below(calmAtMs / 3);
  const value = (isKept: boolean): Program => ({
    ...{ op: "large", where: random.pick(["activity", "step"] as const), isKept },
    ...{ salt: random.below(1_000), bytes: random.pick(LARGE_BYTES) },
  });
  const name = `${id}.large`;
  const bytes = random.pick(LARGE_BYTES);
  const count = bytes > LARGE_BYTES_MAX / 2 ? 1 : 2; // the result holds all of them
  const rounds: readonly Program[] = random.pick([
    [{ op: "all", parts: [value(false), value(false)] }],
    [value(true), value(false)],
    [{ op: "events", name, count, style: "wait", bytes }],
  ]);
  const atMs = startAtMs + random.below(3 * unitMs);
  const raises = Array.from({ length: count }, (_, value): Control => {
    return { kind: "raise", atMs, name, value, bytes };
  });
  const hasEvents = rounds.some(({ op }) => op === "events");
  return {
    ...plainJob(random, id, frame, startAtMs),
    input: { rounds, undo: [], end: "return" },
    controls: hasEvents ? raises : [],
  };
}

/** The members of a job that has nothing special. */
export function plainJob(random: SeededRandom, id: string, frame: PlanFrame, startAtMs: number) {
  return {
    id,
    slot: random.below(frame.workers.length + frame.clients),
    startAtMs,
    delayMs: null,
    priority: random.between(1, 5),
    version: null,
    ahead: null,
    startsTwice: null,
    awaits: false,
    restarts: false,
  } as const;
}

function drawControls(random: SeededRandom, startAtMs: number, unitMs: number): readonly Control[] {
  const fate = random.below(10);
  const atMs = startAtMs + random.below(CANCEL_MS_MAX);
  if (fate < 4) return [{ kind: "cancel", atMs }];
  if (fate === 4) return [{ kind: "terminate", atMs }];
  if (fate > 6) return [];
  return [
    { kind: "pause", atMs },
    { kind: "resume", atMs: atMs + random.below(3 * unitMs) },
  ];
}
