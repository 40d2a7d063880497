// Draws programs: random in shape, bounded in size and time.

import type { SeededRandom } from "../world/seeded-random.ts";
import type { FaultKind } from "../world/faults.ts";
import type { FailureStyle, Opponent, Program } from "./program.ts";

export interface DrawFrame {
  readonly unitMs: number;
  readonly faults: readonly FaultKind[];
  /** Generates unique ids and event names. */
  readonly name: (prefix: string) => string;
  /** Additional operations from the caller (ExtraOperation). */
  readonly extras: readonly { readonly name: string; draw(random: SeededRandom): unknown }[];
  /** Whether the program may contain activities that end only when they are cancelled. */
  readonly mayBeEndless: boolean;
  /**
   * Whether the program may wait for events. Clients raise events for the root instance, not for its
   * children.
   */
  readonly mayWaitForEvents: boolean;
}

const LEAVES_MAX = 14;

export function drawProgram(random: SeededRandom, frame: DrawFrame, depth: number): Program {
  return new Drawing(random, frame).program(depth, frame.mayWaitForEvents);
}

class Drawing {
  readonly #random: SeededRandom;
  readonly #frame: DrawFrame;
  #left = LEAVES_MAX;

  constructor(random: SeededRandom, frame: DrawFrame) {
    this.#random = random;
    this.#frame = frame;
  }

  program(depth: number, events: boolean): Program {
    const random = this.#random;
    if (depth === 0 || this.#left <= 0 || random.likely(0.2)) return this.#leaf(events);
    const body = (): Program => this.program(depth - 1, events);
    const apart = (): Program => this.program(depth - 1, false);
    switch (random.below(14)) {
      case 0:
      case 1: {
        const id = random.likely(0.3) ? this.#frame.name("child") : null;
        return { op: "child", body: apart(), id, abandon: random.likely(0.2) };
      }
      case 2:
        return { op: "detached", id: this.#frame.name("detached"), body: apart() };
      case 3:
        return {
          op: "dropped",
          body: this.program(depth - 1, false),
          ms: this.#ms(3),
          against: this.#opponent(),
        };
      case 4:
        return { op: "shield", body: body() };
      case 5: {
        const loser = random.pick(["timer", "event", "work"] as const);
        return { op: "beaten", winner: body(), loser: loser === "work" ? this.#opponent() : loser };
      }
      case 6:
        return { op: "race", parts: this.#parts(depth, false) };
      case 7:
        return { op: "any", parts: this.#parts(depth, false) };
      case 8:
        return { op: "allSettled", parts: this.#parts(depth, events) };
      case 9:
      case 10:
        return { op: "all", parts: this.#parts(depth, events) };
      default:
        return { op: "sequence", parts: this.#parts(depth, events) };
    }
  }

  #parts(depth: number, events: boolean): Program[] {
    const count = this.#random.between(1, 4);
    return Array.from({ length: count }, () => this.program(depth - 1, events));
  }

  #leaf(events: boolean): Program {
    const random = this.#random;
    const { faults, extras } = this.#frame;
    this.#left--;
    const salt = random.below(1_000);
    const drawn = random.below(24);
    if (drawn < 8) return this.#work(salt);
    if (drawn < 11) {
      return { op: "step", salt, ms: this.#ms(1), ...this.#failures() };
    }
    if (drawn < 14) return { op: "sleep", ms: this.#ms(4) };
    if (drawn < 17) {
      const style = random.pick(["wait", "stream"] as const);
      if (!events) return { op: "chance" };
      return { op: "events", name: this.#frame.name("e"), count: random.between(1, 3), style };
    }
    if (drawn === 17) return { op: "state", key: `k${random.below(3)}`, value: salt };
    if (drawn === 18) return { op: "chance" };
    if (drawn === 19) return { op: "version" };
    if (drawn === 20) return { op: "throw", ms: this.#ms(1) };
    if (drawn === 21) return { op: "deadline", salt, ms: this.#ms(2), closeMs: this.#ms(6) + 1 };
    if (drawn === 22 && faults.includes("poison")) return { op: "poison", salt };
    if (drawn === 22 && faults.includes("deploy")) return { op: "patched", salt };
    const extra = extras.length === 0 ? null : random.pick(extras);
    if (extra !== null) return { op: "extra", name: extra.name, data: extra.draw(random) };
    return this.#work(salt);
  }

  #work(salt: number): Program {
    const random = this.#random;
    return {
      op: "work",
      salt,
      ms: this.#ms(3),
      ...this.#failures(),
      style: random.pick<FailureStyle>(["throw", "throw", "nonRetryable", "retryAfter", "timeout"]),
      tagged: random.likely(0.15),
      session: random.likely(0.2) ? `session-${random.below(3)}` : null,
      priority: random.likely(0.2) ? random.between(1, 5) : null,
      tells: random.likely(0.2),
    };
  }

  #opponent(): Opponent {
    return this.#frame.mayBeEndless ? "endless" : "long";
  }

  #failures(): { fails: number; attempts: number } {
    const random = this.#random;
    if (random.likely(0.6)) return { fails: 0, attempts: random.between(1, 3) };
    return { fails: random.between(1, 3), attempts: random.between(1, 4) };
  }

  #ms(units: number): number {
    const random = this.#random;
    return random.likely(0.3) ? random.below(50) : random.below(units * this.#frame.unitMs);
  }
}
