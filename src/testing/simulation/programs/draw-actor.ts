// Drawing actors and large jobs: instances with many executions and many waiting messages, and instances with values
// about as large as a group of commits. Few seeds have them: each costs as much as an ordinary seed or more.

import type { Chance } from "../chance.ts";
import type { PlanFrame } from "../scenario.ts";
import type { Control, Job } from "./jobs.ts";
import type { Program } from "./program.ts";

const BACKLOG_MIN = 100;
const BACKLOG_MAX = 300;
/** Messages that are raised one by one: each is a call, and is looked at. */
const RAISED_MAX = 12;
/** From its start to a cancel: most of them hit an actor that still has messages. */
const CANCEL_MS_MAX = 2_000;
const LARGE_BYTES: readonly number[] = [250_000, 262_144, 300_000, 999_000, 1_001_000, 1_050_000];
const LARGE_BYTES_MAX = 1_050_000;

export function drawActor(chance: Chance, id: string, frame: PlanFrame): Job {
  const { unitMs, calmAtMs } = frame;
  const startAtMs = chance.below(calmAtMs / 3);
  const isMailbox = chance.likely(0.7);
  const name = `${id}.message`;
  const count = chance.between(BACKLOG_MIN, BACKLOG_MAX);
  const perExecution = chance.pick([1, 1, 1, 2, 7]);
  const raisedLater = chance.between(0, RAISED_MAX);
  const round: Program = isMailbox
    ? { op: "mailbox", name, count, perExecution }
    : { op: "spin", times: count };
  const times = Array.from({ length: raisedLater }, () => startAtMs + chance.below(6 * unitMs));
  const ahead = Array.from({ length: count - raisedLater }, () => 0);
  const raises = [...ahead, ...times.sort((a, b) => a - b)].map((atMs, value): Control => ({
    kind: "raise",
    atMs,
    name,
    value,
  }));
  const controls = drawControls(chance, startAtMs, unitMs);
  return {
    ...plainJob(chance, id, frame, startAtMs),
    input: { rounds: [round], undo: [], end: "return" },
    controls: [...(isMailbox ? raises : []), ...controls].sort((a, b) => a.atMs - b.atMs),
    ahead: isMailbox ? { count: ahead.length, how: "started" } : null,
  };
}

export function drawLargeJob(chance: Chance, id: string, frame: PlanFrame): Job {
  const { unitMs, calmAtMs } = frame;
  const startAtMs = chance.below(calmAtMs / 3);
  const value = (isKept: boolean): Program => ({
    ...{ op: "large", where: chance.pick(["activity", "step"] as const), isKept },
    ...{ salt: chance.below(1_000), bytes: chance.pick(LARGE_BYTES) },
  });
  const name = `${id}.large`;
  const bytes = chance.pick(LARGE_BYTES);
  const count = bytes > LARGE_BYTES_MAX / 2 ? 1 : 2; // the result holds all of them, and has the limit of one value
  const rounds: readonly Program[] = chance.pick([
    [{ op: "all", parts: [value(false), value(false)] }],
    [value(true), value(false)],
    [{ op: "events", name, count, style: "wait", bytes }],
  ]);
  const atMs = startAtMs + chance.below(3 * unitMs);
  const raises = Array.from({ length: count }, (_, value): Control => {
    return { kind: "raise", atMs, name, value, bytes };
  });
  const hasEvents = rounds.some(({ op }) => op === "events");
  return {
    ...plainJob(chance, id, frame, startAtMs),
    input: { rounds, undo: [], end: "return" },
    controls: hasEvents ? raises : [],
  };
}

function plainJob(chance: Chance, id: string, frame: PlanFrame, startAtMs: number) {
  return {
    id,
    slot: chance.below(frame.workers.length + frame.clients),
    startAtMs,
    delayMs: null,
    priority: chance.between(1, 5),
    version: null,
    ahead: null,
    startsTwice: null,
    awaits: false,
    restarts: false,
  } as const;
}

function drawControls(chance: Chance, startAtMs: number, unitMs: number): readonly Control[] {
  const fate = chance.below(10);
  const atMs = startAtMs + chance.below(CANCEL_MS_MAX);
  if (fate < 4) return [{ kind: "cancel", atMs }];
  if (fate === 4) return [{ kind: "terminate", atMs }];
  if (fate > 6) return [];
  return [
    { kind: "pause", atMs },
    { kind: "resume", atMs: atMs + chance.below(3 * unitMs) },
  ];
}
