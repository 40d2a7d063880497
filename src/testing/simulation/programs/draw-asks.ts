// Draws servers and the instances and clients that ask them, and a pair of instances of which one raises events at the
// other.

import type { SeededRandom } from "../world/seeded-random.ts";
import type { PlanFrame } from "../scenario.ts";
import { plainJob } from "./draw-actor.ts";
import type { Control, Job } from "./jobs.ts";
import type { AskNode, Program, RequestData, RequestStyle, ServeNode } from "./program.ts";

const SERVERS_MAX = 2;
const ASKERS_MAX = 5;
const CLIENT_ASKS_MAX = 5;
const RAISED_MAX = 4;
const ENDS: readonly Control["kind"][] = ["cancel", "terminate"];

/** A server with its job. */
interface Server {
  readonly job: Job;
  readonly serve: ServeNode;
  readonly mayEnd: boolean;
}

export function drawAskJobs(random: SeededRandom, frame: PlanFrame): readonly Job[] {
  const servers = Array.from({ length: random.between(1, SERVERS_MAX) }, (_, index) =>
    drawServer(random, `server-${index + 1}`, frame),
  );
  const askers = Array.from({ length: random.between(1, ASKERS_MAX) }, (_, index) =>
    drawAsker(random, `asker-${index + 1}`, frame, servers),
  );
  return [
    ...servers.map(({ job }) => job),
    ...askers,
    ...(random.likely(0.5) ? drawPair(random, frame, servers) : []),
  ];
}

function drawServer(random: SeededRandom, id: string, frame: PlanFrame): Server {
  const { unitMs, calmAtMs } = frame;
  const startAtMs = random.below(calmAtMs / 3);
  const at = (): number => startAtMs + random.below(calmAtMs / 2);
  const serve: ServeNode = {
    op: "serve",
    how: random.pick(["loop", "loop", "serial", "concurrent"]),
    perExecution: random.pick([1, 2, 3, 10, 100]),
  };
  const asks = Array.from({ length: random.below(CLIENT_ASKS_MAX + 1) }, (_, index): Control => {
    const key = `${id}.client-${index + 1}`;
    return { kind: "ask", atMs: at(), request: drawRequest(random, key, unitMs) };
  });
  const others = drawControls(random, at(), unitMs);
  const job: Job = {
    ...plainJob(random, id, frame, startAtMs),
    input: { rounds: [serve], undo: [], end: "return" },
    controls: [...asks.map((ask) => afterPause(ask, others)), ...others].sort(
      (a, b) => a.atMs - b.atMs,
    ),
  };
  return { job, serve, mayEnd: others.some(({ kind }) => ENDS.includes(kind)) };
}

/** The client that pauses the server also resumes it, so it must not wait for an answer in between. */
function afterPause(ask: Control, [pause, resume]: readonly Control[]): Control {
  if (pause === undefined || resume === undefined || ask.atMs < pause.atMs) return ask;
  return { ...ask, atMs: Math.max(ask.atMs, resume.atMs + 1) };
}

function drawAsker(
  random: SeededRandom,
  id: string,
  frame: PlanFrame,
  servers: readonly Server[],
): Job {
  const { unitMs, calmAtMs } = frame;
  const startAtMs = random.below(calmAtMs / 3);
  let asks = 0;
  const ask = (): Program => drawAsk(random, `${id}.${++asks}`, unitMs, servers);
  const round = (depth: number): Program => {
    if (depth === 0)
      return random.likely(0.8) ? ask() : { op: "sleep", ms: drawMs(random, unitMs) };
    const parts = (): Program[] =>
      Array.from({ length: random.between(1, 4) }, () => round(depth - 1));
    switch (random.below(8)) {
      case 0:
        return { op: "race", parts: [ask(), { op: "sleep", ms: drawMs(random, unitMs) }] };
      case 1:
        return { op: "race", parts: parts() };
      case 2:
        return { op: "dropped", body: ask(), ms: drawMs(random, 2 * unitMs), against: "event" };
      case 3:
        return { op: "beaten", winner: ask(), loser: "timer" };
      case 4:
      case 5:
        return { op: "all", parts: parts() };
      default:
        return { op: "sequence", parts: parts() };
    }
  };
  const rounds = Array.from({ length: random.pick([1, 1, 2]) }, () => round(2));
  return {
    ...plainJob(random, id, frame, startAtMs),
    input: { rounds, undo: [], end: "return" },
    controls: drawControls(random, startAtMs + random.below(calmAtMs / 2), unitMs),
  };
}

/** An instance that raises events, with asks between them, and the instance that waits for the events. */
function drawPair(
  random: SeededRandom,
  frame: PlanFrame,
  servers: readonly Server[],
): readonly Job[] {
  const name = "reader-1.letter";
  const count = random.between(1, RAISED_MAX);
  const at = (): number => random.below(frame.calmAtMs / 2);
  const parts = Array.from({ length: count }, (_, value): readonly Program[] => [
    drawAsk(random, `writer-1.${value}`, frame.unitMs, servers),
    { op: "raise", to: "reader-1", name, value },
  ]).flat();
  const style = random.pick(["wait", "stream"] as const);
  const job = (id: string, round: Program): Job => ({
    ...plainJob(random, id, frame, at()),
    input: { rounds: [round], undo: [], end: "return" },
    controls: [],
  });
  return [
    job("writer-1", { op: "sequence", parts }),
    job("reader-1", { op: "events", name, count, style }),
  ];
}

function drawAsk(
  random: SeededRandom,
  key: string,
  unitMs: number,
  servers: readonly Server[],
): AskNode {
  const { job, serve, mayEnd } = random.pick(servers);
  const start = random.likely(0.7) ? serve : null;
  return { op: "ask", to: job.id, start, mayEnd, ...drawRequest(random, key, unitMs) };
}

function drawRequest(random: SeededRandom, key: string, unitMs: number): RequestData {
  const style = random.pick<RequestStyle>(["answer", "answer", "refuse", "fail", "wait", "work"]);
  return { key, style, salt: random.below(1_000), ms: drawMs(random, unitMs) };
}

export function drawMs(random: SeededRandom, ms: number): number {
  return random.likely(0.3) ? random.below(50) : random.below(ms);
}

export function drawControls(
  random: SeededRandom,
  atMs: number,
  unitMs: number,
): readonly Control[] {
  const fate = random.below(10);
  if (fate === 0) return [{ kind: "cancel", atMs }];
  if (fate === 1) return [{ kind: "terminate", atMs }];
  if (fate > 3) return [];
  return [
    { kind: "pause", atMs },
    { kind: "resume", atMs: atMs + random.below(6 * unitMs) },
  ];
}
