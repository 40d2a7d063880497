// Draws instances that write to two streams, from their orchestration and from activities. The second stream may be
// closed before the last round; the orchestration then tries to write to it.

import type { SeededRandom } from "../world/seeded-random.ts";
import type { PlanFrame } from "../scenario.ts";
import { plainJob } from "./draw-actor.ts";
import { drawControls, drawMs } from "./draw-asks.ts";
import type { Job } from "./jobs.ts";
import type { Program, StreamPart } from "./program.ts";

const JOBS_MAX = 2;
const PARTS_MAX = 4;
const VALUES_MAX = 6;
/** Small values are gathered, large ones are written at once or let the writer wait. */
const BYTES: readonly number[] = [0, 0, 0, 0, 10, 1_000, 70_000];
const OPEN = "open";
const CLOSING = "closing";

export function drawStreamJobs(random: SeededRandom, frame: PlanFrame): readonly Job[] {
  return Array.from({ length: random.between(1, JOBS_MAX) }, (_, index) =>
    drawStreamJob(random, `streaming-${index + 1}`, frame),
  );
}

function drawStreamJob(random: SeededRandom, id: string, frame: PlanFrame): Job {
  const startAtMs = random.below(frame.calmAtMs / 3);
  const drawing = new Drawing(random, id, frame.unitMs);
  const count = random.between(1, 3);
  const closesAfter = random.likely(0.4) ? random.below(count) : count;
  const rounds = Array.from({ length: count }, (_, index) =>
    drawing.round({ closes: index === closesAfter, isClosed: index > closesAfter }),
  );
  const atMs = startAtMs + random.below(frame.calmAtMs / 2);
  return {
    ...plainJob(random, id, frame, startAtMs),
    input: { rounds, undo: [], end: random.likely(0.1) ? "throw" : "return" },
    controls: drawControls(random, atMs, frame.unitMs),
  };
}

class Drawing {
  readonly #random: SeededRandom;
  readonly #id: string;
  readonly #unitMs: number;
  #keys = 0;

  constructor(random: SeededRandom, id: string, unitMs: number) {
    this.#random = random;
    this.#id = id;
    this.#unitMs = unitMs;
  }

  round({ closes, isClosed }: { closes: boolean; isClosed: boolean }): Program {
    const length = this.#random.between(1, PARTS_MAX);
    const parts = Array.from({ length }, () => this.#part(isClosed, true));
    if (closes) parts.push({ ...this.#write(CLOSING), closes: true });
    return { op: "sequence", parts };
  }

  #part(isClosed: boolean, mayBranch: boolean): Program {
    const random = this.#random;
    const stream = random.pick([OPEN, CLOSING]);
    switch (random.below(mayBranch ? 9 : 6)) {
      case 0:
      case 1:
        return this.#write(stream);
      case 2:
        return { op: "sleep", ms: drawMs(random, this.#unitMs) };
      case 6: {
        const body = this.#streamed(isClosed ? OPEN : stream);
        return { op: "dropped", body, ms: drawMs(random, this.#unitMs), against: "event" };
      }
      case 7:
      case 8: {
        const length = random.between(2, 3);
        return { op: "all", parts: Array.from({ length }, () => this.#part(isClosed, false)) };
      }
      default:
        return this.#streamed(isClosed ? OPEN : stream);
    }
  }

  #write(stream: string): Extract<Program, { op: "write" }> {
    return { op: "write", ...this.#values(stream), closes: false };
  }

  #streamed(stream: string): Program {
    const random = this.#random;
    const attempts = random.between(1, 4);
    const fails = random.likely(0.5) ? 0 : random.below(attempts + 1);
    const ms = drawMs(random, 2 * this.#unitMs);
    const flushes = random.likely(0.5);
    const salt = random.below(1_000);
    return { op: "streamed", ...this.#values(stream), salt, ms, fails, attempts, flushes };
  }

  #values(stream: string): StreamPart {
    const key = `${this.#id}.${++this.#keys}`;
    const count = this.#random.between(1, VALUES_MAX);
    return { stream, key, count, bytes: this.#random.pick(BYTES) };
  }
}
