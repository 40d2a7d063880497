// Draws instances that wait for calls from outside, and the clients that make these calls: in time, early, late,
// repeatedly, two at a time, and with tokens of earlier attempts.

import type { SeededRandom } from "../../world/seeded-random.ts";
import type { PlanFrame } from "../../scenario.ts";
import { plainJob } from "../draw-actor.ts";
import { drawControls, drawMs } from "../draw-asks.ts";
import type { Caller, Job, OutsideCall } from "../jobs.ts";
import type { CallbackNode, LaterNode, Program } from "../program.ts";

const JOBS_MAX = 2;
const ROUNDS_MAX = 2;
const PARTS_MAX = 3;
const CALLS_MAX = 3;

export function drawCallbackJobs(random: SeededRandom, frame: PlanFrame): readonly Job[] {
  return Array.from({ length: random.between(1, JOBS_MAX) }, (_, index) =>
    drawCallbackJob(random, `calling-${index + 1}`, frame),
  );
}

function drawCallbackJob(random: SeededRandom, id: string, frame: PlanFrame): Job {
  const startAtMs = random.below(frame.calmAtMs / 3);
  const controls = drawControls(random, startAtMs + random.below(frame.calmAtMs / 2), frame.unitMs);
  const restarts = controls.length === 0 && random.likely(0.3);
  const drawing = new Drawing(random, id, frame, restarts);
  const rounds = Array.from({ length: random.between(1, ROUNDS_MAX) }, () => drawing.round());
  return {
    ...plainJob(random, id, frame, startAtMs),
    input: { rounds, undo: [], end: "return" },
    controls,
    restarts,
    callers: drawing.callers,
  };
}

class Drawing {
  readonly callers: Caller[] = [];
  readonly #random: SeededRandom;
  readonly #id: string;
  readonly #frame: PlanFrame;
  /** The callers of a restarted instance may have made all their calls before, so every wait needs a timeout. */
  readonly #needsTimeouts: boolean;
  #keys = 0;

  constructor(random: SeededRandom, id: string, frame: PlanFrame, needsTimeouts: boolean) {
    this.#random = random;
    this.#id = id;
    this.#frame = frame;
    this.#needsTimeouts = needsTimeouts;
  }

  round(): Program {
    const length = this.#random.between(1, PARTS_MAX);
    return { op: "sequence", parts: Array.from({ length }, () => this.#part(true)) };
  }

  #part(mayBranch: boolean): Program {
    const random = this.#random;
    switch (random.below(mayBranch ? 10 : 7)) {
      case 0:
        return { op: "sleep", ms: this.#ms(1) };
      case 1:
      case 2:
      case 3:
        return this.#later();
      case 7: {
        const body = random.likely(0.5) ? this.#callback() : this.#later();
        return { op: "dropped", body, ms: this.#ms(4), against: "event" };
      }
      case 8:
      case 9: {
        const length = random.between(2, 3);
        return { op: "all", parts: Array.from({ length }, () => this.#part(false)) };
      }
      default:
        return this.#callback();
    }
  }

  #callback(): CallbackNode {
    const random = this.#random;
    const key = `${this.#id}.${++this.#keys}`;
    const timeoutMs = this.#timeout(0.6);
    this.#call(key, timeoutMs === null, ["complete"]);
    const how = random.pick(["await", "await", "late", "race"] as const);
    return { op: "callback", key, how, ms: this.#ms(4), timeoutMs };
  }

  #later(): LaterNode {
    const random = this.#random;
    const key = `${this.#id}.${++this.#keys}`;
    const timeoutMs = this.#timeout(0.5);
    const heartbeatMs = random.likely(0.2) ? 1 + this.#ms(6) : null;
    this.#call(key, timeoutMs === null, ["complete", "complete", "fail", "fail", "heartbeat"]);
    const attempts = random.between(1, 4);
    const fails = random.likely(0.7) ? 0 : random.below(attempts);
    return { op: "later", key, ms: this.#ms(1), fails, attempts, timeoutMs, heartbeatMs };
  }

  /** One or two callers. If nothing else ends the wait, the last call of each completes it. */
  #call(key: string, mustEnd: boolean, kinds: readonly OutsideCall["kind"][]): void {
    const random = this.#random;
    const { workers, clients } = this.#frame;
    const count = mustEnd || random.likely(0.8) ? random.between(1, 2) : 0;
    for (let caller = 1; caller <= count; caller++) {
      const calls = Array.from({ length: random.between(1, CALLS_MAX) }, (_, n): OutsideCall => {
        const value = `${key} ${caller} ${n}`;
        const token = random.pick(["first", "newest", "newest"] as const);
        return { kind: random.pick(kinds), afterMs: this.#ms(5), value, token };
      });
      const last: OutsideCall = {
        ...{ kind: "complete", afterMs: this.#ms(3), value: `${key} ${caller} last` },
        token: random.pick(["first", "newest"]),
      };
      const slot = random.below(workers.length + clients);
      this.callers.push({ key, slot, calls: mustEnd ? [...calls, last] : calls });
    }
  }

  #timeout(share: number): number | null {
    return this.#needsTimeouts || this.#random.likely(share) ? 1 + this.#ms(12) : null;
  }

  #ms(units: number): number {
    return drawMs(this.#random, units * this.#frame.unitMs);
  }
}
