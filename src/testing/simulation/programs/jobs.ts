// Jobs: one root instance each, and what a client does with it.
//   JO1. Every call carries a request id of its own, so that a client that died can be followed by another that
//        asks the same again.
//   JO2. A call that was acknowledged is in the ledger, and is not made again.

import { isPerdureError } from "../../../core/errors.ts";
import type { Chance } from "../chance.ts";
import type { FaultKind } from "../faults.ts";
import type { PlanFrame } from "../scenario.ts";
import type { Hand } from "../workload.ts";
import { drawProgram, type DrawFrame } from "./draw-program.ts";
import { ROOT, type RootInput } from "./interpreter.ts";
import { partsOf, smallerPrograms, type Program } from "./program.ts";

/** What a client does at a moment, besides starting it. */
export type Control =
  | { readonly kind: "raise"; readonly atMs: number; readonly name: string; readonly value: number }
  | { readonly kind: "pause" | "resume" | "cancel" | "terminate"; readonly atMs: number };

export interface Job {
  readonly id: string;
  readonly slot: number;
  readonly startAtMs: number;
  readonly delayMs: number | null;
  readonly priority: number;
  /** Null: whatever is newest where it runs first. */
  readonly version: string | null;
  readonly input: RootInput;
  /** In order of time. */
  readonly controls: readonly Control[];
  /** Is run again when it has ended. */
  readonly restarts: boolean;
}

/** More activities than this never wait for one another in any plan. */
const ENDLESS_MAX = 100;

/** Faults by which a task may lose its owner again and again: it is then tried alone, and must come to an end. */
const MAY_ROB: readonly FaultKind[] = [
  ...(["crash", "poison", "pause", "clock", "slow", "storeDown", "diskFull"] as const),
  ...(["failBefore", "failAfter", "deploy"] as const),
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
  const fate = chance.below(10);
  const pausedAt = at();
  const others: Control[] =
    fate === 0
      ? [{ kind: "cancel", atMs: at() }]
      : fate === 1
        ? [{ kind: "terminate", atMs: at() }]
        : fate < 4
          ? [
              { kind: "pause", atMs: pausedAt },
              { kind: "resume", atMs: pausedAt + chance.below(6 * unitMs) },
            ]
          : [];
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
    restarts: canRestart && chance.likely(0.2),
  };
}

function drawVersion(chance: Chance, { faults }: PlanFrame): string | null {
  const drawn = chance.pick([null, "1.0.0", "2.0.0"]);
  return drawn === "2.0.0" && !faults.includes("deploy") ? null : drawn;
}

function eventsIn(program: Program): Extract<Program, { op: "events" }>[] {
  if (program.op === "events") return [program];
  if (program.op === "child" || program.op === "detached") return [];
  return partsOf(program).flatMap(eventsIn);
}

/** A child of a given id can be called once. */
function namesChildren(program: Program): boolean {
  if (program.op === "child" && program.id !== null) return true;
  return partsOf(program).some(namesChildren);
}

/** Does what the job says, from wherever it was left. */
export class JobScript {
  readonly #job: Job;
  /** How many of its calls were acknowledged. */
  #done = 0;
  /** Calls that came too late for an instance that had ended. */
  readonly refused = new Set<Control["kind"]>();

  constructor(job: Job) {
    this.#job = job;
  }

  async run(hand: Hand): Promise<void> {
    const { controls, restarts, startAtMs } = this.#job;
    const calls = [
      { atMs: startAtMs, call: () => this.#start(hand) },
      ...controls.map((control, index) => ({
        atMs: Math.max(control.atMs, startAtMs),
        call: () => this.#control(hand, control, index),
      })),
      ...(restarts ? [{ atMs: 0, call: () => this.#restart(hand) }] : []),
    ];
    for (const { atMs, call } of calls.slice(this.#done)) {
      const waitMs = atMs - hand.elapsedMs();
      if (waitMs > 0) await hand.process.sleep(waitMs);
      await call();
      this.#done++;
    }
  }

  async #start(hand: Hand): Promise<void> {
    const { id, input, delayMs, priority, version } = this.#job;
    await hand.client.start(ROOT, input, {
      id,
      priority,
      requestId: `${id}.start`,
      ...(version === null ? {} : { version }),
      ...(delayMs === null ? {} : { delay: delayMs }),
    });
    hand.ledger.acknowledge({ kind: "start", id, request: `${id}.start`, at: hand.elapsedMs() });
  }

  async #control(hand: Hand, control: Control, index: number): Promise<void> {
    const { id } = this.#job;
    const handle = hand.client.get(id);
    const request = `${id}.${index}`;
    try {
      if (control.kind === "raise") {
        await handle.raise(control.name, control.value, { requestId: request });
      } else if (control.kind === "cancel") await handle.cancel("the job says so");
      else await handle[control.kind]();
    } catch (error) {
      // It may have come to its end before; whether it should have, its result tells.
      if (!isPerdureError(error, "INSTANCE_FINISHED")) throw error;
      this.refused.add(control.kind);
      return;
    }
    hand.ledger.acknowledge({ kind: control.kind, id, request, at: hand.elapsedMs() });
  }

  /** Waits for the end, then begins anew; a repetition of the call finds that it has. */
  async #restart(hand: Hand): Promise<void> {
    const { id } = this.#job;
    for (;;) {
      const { status, execution } = await hand.client.get(id).describe();
      if (execution > this.#job.input.rounds.length) return;
      const isOver = status === "completed" || status === "failed";
      if (isOver) break;
      await hand.process.sleep(10_000);
    }
    for (;;) {
      try {
        await hand.client.get(id).restart();
        break;
      } catch (error) {
        // Its input is in its history: while that is damaged nobody can begin it anew.
        if (!isPerdureError(error, "HISTORY_CORRUPT")) throw error;
        await hand.process.sleep(10_000);
      }
    }
    hand.ledger.acknowledge({ kind: "restart", id, request: null, at: hand.elapsedMs() });
  }
}

/** Jobs that do less. */
export function* smallerJobs(job: Job): Iterable<Job> {
  const { input, controls } = job;
  const withRounds = (rounds: readonly Program[]): Job => {
    const names = new Set(rounds.flatMap(eventsIn).map(({ name }) => name));
    const left = controls.filter((control) => control.kind !== "raise" || names.has(control.name));
    return { ...job, input: { ...input, rounds }, controls: left };
  };
  for (const [index, round] of input.rounds.entries()) {
    if (input.rounds.length > 1) yield withRounds(input.rounds.toSpliced(index, 1));
    for (const smaller of smallerPrograms(round))
      yield withRounds(input.rounds.with(index, smaller));
  }
  const others = controls.filter(({ kind }) => kind === "raise");
  if (others.length < controls.length) yield { ...job, controls: others };
  if (input.undo.length > 0) yield { ...job, input: { ...input, undo: [] } };
  if (job.restarts) yield { ...job, restarts: false };
  if (job.delayMs !== null) yield { ...job, delayMs: null };
  if (job.startAtMs > 0) yield { ...job, startAtMs: 0 };
}
