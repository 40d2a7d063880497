// Shared by the four shapes of W8: submitters submit flows as fast as they can, and the flows are counted.
//   - A submitter waits until its flow is stored, not until it ends; unfinished flows wait in the store.
//   - Flows per second: from the first submission until the last result has been read. Steps per second: the same,
//       times the transitions that the shape counts.
//   - The result shows whether a flow was correct: every step changes the value that passes through it.

import { strict as assert } from "node:assert";
import { performance } from "node:perf_hooks";
import type { Handle, Orchestration, Perdure } from "../../src/index.ts";
import { cpuOf, forEachOf, timeMs, withLoopDelay } from "../measure.ts";
import { shapeSize, type Shape } from "../sizes.ts";
import { quantile } from "../statistics.ts";
import type { Reading, Setting } from "../subject.ts";
import { assertUntroubled, withPerdure } from "./open.ts";

export interface Payload {
  readonly id: number;
  readonly counter: number;
}
export function next({ id, counter }: Payload): Payload {
  return { id, counter: counter + 1 };
}

/** The time of an event in each flow, in milliseconds of this process. */
export class Times {
  readonly #at = new Map<number, number>();
  readonly #awaited = new Map<number, () => void>();

  mark(id: number): void {
    this.#at.set(id, performance.now());
    this.#awaited.get(id)?.();
  }
  /** Resolves when the event has happened. */
  async seen(id: number): Promise<void> {
    if (!this.#at.has(id)) await new Promise<void>((resolve) => this.#awaited.set(id, resolve));
  }
  /** The durations from one event to the other, per flow. */
  since(earlier: Times): number[] {
    return [...this.#at].map(([id, at]) => at - (earlier.#at.get(id) ?? NaN));
  }
  get size(): number {
    return this.#at.size;
  }
  clear(): void {
    this.#at.clear();
    this.#awaited.clear();
  }
}

/** The times that the functions of the flows record. */
export interface Watch {
  readonly submitted: Times;
  /** The first step has started. */
  readonly pickedUp: Times;
  /** Its result has been read. */
  readonly done: Times;
}
export function newWatch(): Watch {
  return { submitted: new Times(), pickedUp: new Times(), done: new Times() };
}

export interface ShapeProgram<O> {
  readonly shape: Shape;
  readonly flow: Orchestration<Payload, O>;
  readonly watch: Watch;
  /** The number of counted transitions of a flow. */
  readonly transitions: number;
  /** The expected result of the flow with that id. */
  expected(id: number): O;
  /** An action from outside the flow once the flow is stored. */
  accompany?(handle: Handle<O>, id: number): Promise<void>;
  /** The reported latencies, if not those from submission to result; n is the number of flows. */
  latencies?(n: number): readonly Reading[];
}

export function measureShape<O>(
  setting: Setting,
  program: ShapeProgram<O>,
): Promise<readonly Reading[]> {
  const { shape, flow, watch, transitions } = program;
  const { flows, warmUp, submitters } = shapeSize(shape, setting);
  return withPerdure(setting, { register: [flow] }, async (perdure) => {
    await submitAll(perdure, program, warmUp, submitters);
    for (const times of Object.values(watch)) times.clear();
    let ms = 0;
    const work = async (): Promise<void> => {
      ms = await timeMs(() => submitAll(perdure, program, flows, submitters));
    };
    const { value: cpuUs, loopP99Ms } = await withLoopDelay(() => cpuOf(work));
    assert.equal(watch.pickedUp.size, flows, "every flow was picked up");
    await assertUntroubled(perdure, warmUp + flows);
    const n = flows;
    return [
      { metric: "flowsPerS", value: (n / ms) * 1_000, n },
      { metric: "stepsPerS", value: ((n * transitions) / ms) * 1_000, n },
      { metric: "cpuUsPerStep", value: cpuUs / (n * transitions), n },
      ...(program.latencies?.(n) ?? latenciesOf(watch, n)),
      { metric: "loopP99Ms", value: loopP99Ms, n },
    ];
  });
}

/** From submission to the end, and from submission to the start of the first step. */
export function latenciesOf({ submitted, pickedUp, done }: Watch, n: number): readonly Reading[] {
  const endToEnd = done.since(submitted);
  return [
    { metric: "p50Ms", value: quantile(endToEnd, 0.5), n },
    { metric: "p99Ms", value: quantile(endToEnd, 0.99), n },
    { metric: "pickupP50Ms", value: quantile(pickedUp.since(submitted), 0.5), n },
  ];
}

async function submitAll<O>(
  { client }: Perdure,
  { flow, watch, expected, accompany }: ShapeProgram<O>,
  count: number,
  submitters: number,
): Promise<void> {
  const ends: Promise<void>[] = [];
  const follow = async (handle: Handle<O>, id: number): Promise<void> => {
    await accompany?.(handle, id);
    assert.deepEqual(await handle.result(), expected(id));
    watch.done.mark(id);
  };
  await forEachOf(count, submitters, async (id) => {
    watch.submitted.mark(id);
    const handle = await client.start(flow, { id, counter: 0 });
    ends.push(follow(handle, id));
  });
  await Promise.all(ends);
}
