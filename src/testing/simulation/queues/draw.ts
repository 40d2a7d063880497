// Draws queues and the calls of their clients: few keys, so that calls meet, and short times, so that rules matter.

import type { QueueRule } from "../../../core/provider/queues.ts";
import type { PlanFrame } from "../scenario.ts";
import type { SeededRandom } from "../world/seeded-random.ts";
import {
  ALWAYS,
  type CallRule,
  type JobInput,
  type PlannedCall,
  type PlannedQueue,
  type QueueClient,
  type QueuesPlan,
  type Step,
} from "./plan.ts";

const QUEUES_MAX = 3;
const CLIENTS_MAX = 3;
const STEPS_MAX = 14;
const BULK_MAX = 12;
const CALLS_MAX = 5;
const KEYS = ["a", "a", "a", "b", "c"] as const;
/** Workers that wait for a slot poll often, which is too often if a unit is longer than this. */
const SLOTS_UNIT_MAX_MS = 5_000;
/** How many keys of each rule a queue has. */
const RULE_KEYS = 2;

export function drawQueues(random: SeededRandom, frame: PlanFrame): QueuesPlan {
  return new Drawing(random, frame).plan();
}

class Drawing {
  readonly #random: SeededRandom;
  readonly #frame: PlanFrame;
  readonly #rules = new Map<string, CallRule>();
  #values = 0;

  constructor(random: SeededRandom, frame: PlanFrame) {
    this.#random = random;
    this.#frame = frame;
  }

  plan(): QueuesPlan {
    const random = this.#random;
    const queues = Array.from({ length: random.between(1, QUEUES_MAX) }, (_, index) =>
      this.#queue(`queue-${index + 1}`),
    );
    const clients = Array.from({ length: random.between(1, CLIENTS_MAX) }, () =>
      this.#client(queues),
    );
    return { queues, clients };
  }

  #queue(name: string): PlannedQueue {
    const random = this.#random;
    const hasSlots = this.#frame.unitMs <= SLOTS_UNIT_MAX_MS;
    const rule: QueueRule = {
      ...(hasSlots && random.likely(0.5) ? { concurrency: random.between(1, 3) } : {}),
      ...(hasSlots && random.likely(0.4) ? { perKey: random.between(1, 2) } : {}),
      ...(random.likely(0.4)
        ? { rate: { count: random.between(1, 4), perMs: 1 + this.#ms(2) } }
        : {}),
      ...(random.likely(0.4) ? { fair: true } : {}),
    };
    const isRuled = Object.keys(rule).length > 0;
    return { name, rule: isRuled ? rule : null, attempts: random.between(3, 5) };
  }

  #client(queues: readonly PlannedQueue[]): QueueClient {
    const random = this.#random;
    const { workers, clients } = this.#frame;
    const steps = Array.from({ length: random.between(1, STEPS_MAX) }, () => this.#step(queues));
    return {
      slot: random.below(workers.length + clients),
      steps: steps.flat().toSorted((a, b) => a.atMs - b.atMs),
    };
  }

  #step(queues: readonly PlannedQueue[]): readonly Step[] {
    const random = this.#random;
    const atMs = random.below((this.#frame.calmAtMs * 2) / 3);
    const drawn = random.below(12);
    if (drawn === 0) {
      const queue = random.pick(queues).name;
      const resumedAt = atMs + this.#ms(4);
      return [
        { kind: "pauseQueue", atMs, queue },
        { kind: "resumeQueue", atMs: resumedAt, queue },
      ];
    }
    if (drawn === 1) {
      const length = random.between(1, BULK_MAX);
      const { name } = random.pick(queues);
      return [
        { kind: "enqueueMany", atMs, calls: Array.from({ length }, () => this.#call([name])) },
      ];
    }
    if (drawn === 2) {
      const names = queues.map(({ name }) => name);
      const length = random.between(1, CALLS_MAX);
      const id = `caller-${++this.#values}`;
      return [{ kind: "start", atMs, id, calls: Array.from({ length }, () => this.#call(names)) }];
    }
    return this.#burst(random.pick(queues).name, atMs);
  }

  /** Calls that follow each other closely, often under one key. */
  #burst(queue: string, atMs: number): readonly Step[] {
    const random = this.#random;
    const rule = random.likely(0.25) ? null : this.#rule(queue);
    let at = atMs;
    return Array.from({ length: random.between(1, 3) }, (): Step => {
      at += this.#ms(0.5);
      const isUnique = rule?.kind === "unique";
      return {
        kind: "enqueue",
        atMs: at,
        ...this.#call([queue]),
        delayMs: (rule === null || isUnique) && random.likely(0.2) ? this.#ms(3) : 0,
        priority: random.between(1, 5),
        rule: isUnique ? { ...rule, onConflict: this.#policy() } : rule,
        isByName: random.likely(0.2),
        cancelAfterMs: random.likely(0.1) ? this.#ms(2) : null,
      };
    });
  }

  #rule(queue: string): CallRule {
    const random = this.#random;
    const kind = random.pick(["unique", "unique", "debounce", "throttle"] as const);
    const key = `${queue} ${kind} ${random.below(RULE_KEYS)}`;
    const known = this.#rules.get(key);
    if (known !== undefined) return known;
    const rule = this.#newRule(kind, key);
    this.#rules.set(key, rule);
    return rule;
  }

  #newRule(kind: CallRule["kind"], key: string): CallRule {
    const random = this.#random;
    if (kind === "unique") return { kind, key, onConflict: "useExisting" };
    const ms = 1 + this.#ms(2);
    if (kind === "throttle") return { kind, key, perMs: ms, trailing: random.likely(0.5) };
    return { kind, key, waitMs: ms, maxMs: random.likely(0.5) ? ms + this.#ms(3) : null };
  }

  #policy(): "useExisting" | "fail" | "replace" {
    return this.#random.pick(["useExisting", "fail", "replace", "replace"] as const);
  }

  #call(queues: readonly string[]): PlannedCall {
    const random = this.#random;
    return { queue: random.pick(queues), key: random.pick(KEYS), ...this.#input() };
  }

  #input(): JobInput {
    const random = this.#random;
    const drawn = random.below(10);
    const fails = drawn < 7 ? 0 : drawn < 9 ? random.between(1, 2) : ALWAYS;
    return { value: `v${++this.#values}`, ms: this.#ms(1), fails };
  }

  #ms(units: number): number {
    const random = this.#random;
    return random.likely(0.3) ? random.below(50) : random.below(units * this.#frame.unitMs);
  }
}
