// The network between the processes and the store: calls, answers and news travel, are late, fail or get lost.
//   NW1. A call that fails "before" was not carried out; one that fails "after" was, and nobody heard (I14).
//   NW2. What a process had on its way when it died may arrive all the same.
//   NW3. News may be lost, doubled or late; its sender hears of its own call with the answer, never before (W1).
//   NW4. A store that is down, or whose disk is full, refuses; nothing of a refused call was carried out.
//   NW5. In calm weather nothing goes wrong; what is on its way arrives.
//   NW6. A store that forgot is another server: a call that was on its way to the old one never arrives at the new one.

import type { News } from "../../core/provider/notifications.ts";
import { isRead, unavailable, type Method } from "./calls.ts";
import type { Chance } from "./chance.ts";
import type { Line } from "./line.ts";
import type { SimulatedStore } from "./simulated-store.ts";
import type { Timeline } from "./timeline.ts";

/** Probabilities a call, or a piece of news. */
export interface NetworkFaults {
  readonly failBefore: number;
  readonly failAfter: number;
  readonly slow: number;
  /** How long a slow call, or answer, takes at most. */
  readonly slowMs: number;
  readonly newsLost: number;
  readonly newsDoubled: number;
  readonly newsLate: number;
  /** An ordinary way takes at most this long. */
  readonly latencyMs: number;
}

/** A network in calm weather. */
export const NO_FAULTS: NetworkFaults = {
  failBefore: 0,
  failAfter: 0,
  slow: 0,
  slowMs: 0,
  newsLost: 0,
  newsDoubled: 0,
  newsLate: 0,
  latencyMs: 2,
};

export interface NetworkOptions {
  readonly timeline: Timeline;
  readonly store: SimulatedStore;
  readonly chance: Chance;
  readonly faults: NetworkFaults;
  /** A fault hit something. */
  readonly onLanded: (kind: string, what: string) => void;
}

const ELSEWHERE: News = { due: [], changed: [], tasks: false, elsewhere: true };

export class Network {
  readonly #o: NetworkOptions;
  readonly #lines = new Set<Line>();
  readonly #chance: Chance;
  #faults: NetworkFaults;
  isStoreDown = false;
  isDiskFull = false;

  constructor(options: NetworkOptions) {
    this.#o = options;
    this.#chance = options.chance;
    this.#faults = options.faults;
  }

  attach(line: Line): void {
    this.#lines.add(line);
  }
  detach(line: Line): void {
    this.#lines.delete(line);
  }

  calm(): void {
    this.#faults = { ...NO_FAULTS, latencyMs: this.#faults.latencyMs };
    this.isStoreDown = false;
    this.isDiskFull = false;
  }

  ask(line: Line, method: Method, args: readonly unknown[]): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const fate = this.#fate(method);
    const { server } = this.#o.store;
    const arrives = (): void => {
      if (line.isSevered && this.#chance.likely(0.5)) return;
      const refusal = this.#refusal(method, fate.before || server !== this.#o.store.server);
      if (refusal !== null) return this.#travel(line, () => reject(refusal));
      void this.#o.store.carryOut(line.name, method, args).then(
        ({ result, news }) => {
          if (news.length > 0) this.#tellOthers(line);
          this.#travel(
            line,
            () => {
              if (fate.after) return reject(unavailable(method, "the connection broke after it"));
              for (const piece of news) line.tell(piece);
              resolve(result);
            },
            fate.slowAnswer,
          );
        },
        (error: unknown) => this.#travel(line, () => reject(error as Error)),
      );
    };
    this.#o.timeline.after(this.#wayOf(line, fate.slowCall), arrives);
    return promise;
  }

  #fate(method: Method) {
    const { failBefore, failAfter, slow } = this.#faults;
    const chance = this.#chance;
    const before = chance.likely(failBefore);
    const after = !before && chance.likely(failAfter);
    const isSlow = chance.likely(slow);
    const slowCall = isSlow && chance.likely(0.5);
    if (after) this.#o.onLanded("failAfter", method);
    if (isSlow) this.#o.onLanded("slow", method);
    return { before, after, slowCall, slowAnswer: isSlow && !slowCall };
  }

  #refusal(method: Method, fails: boolean): Error | null {
    if (this.isStoreDown) {
      this.#o.onLanded("storeDown", method);
      return unavailable(method, "the store is down");
    }
    if (this.isDiskFull && !isRead(method)) {
      this.#o.onLanded("diskFull", method);
      return unavailable(method, "the disk is full");
    }
    if (!fails) return null;
    this.#o.onLanded("failBefore", method);
    return unavailable(method, "the connection broke before it");
  }

  /** An answer to a process that died arrives at nobody. */
  #travel(line: Line, deliver: () => void, slow = false): void {
    const { timeline } = this.#o;
    timeline.after(this.#wayOf(line, slow), () => timeline.post(line.loop, deliver));
  }

  /** As long as the way takes, or until the process is no longer cut off. */
  #wayOf(line: Line, slow: boolean): number {
    return Math.max(this.#way(slow), line.cutUntilMs - this.#o.timeline.now);
  }

  #way(slow: boolean): number {
    const { latencyMs, slowMs } = this.#faults;
    return slow ? this.#chance.below(slowMs) : this.#chance.below(latencyMs + 1);
  }

  #tellOthers(sender: Line): void {
    const { newsLost, newsDoubled, newsLate, slowMs } = this.#faults;
    const { timeline, onLanded } = this.#o;
    for (const line of this.#lines) {
      if (line === sender || !line.isListening) continue;
      if (this.#chance.likely(newsLost)) {
        onLanded("newsLost", line.name);
        continue;
      }
      const isDoubled = this.#chance.likely(newsDoubled);
      for (let copies = isDoubled ? 2 : 1; copies > 0; copies--) {
        const isLate = this.#chance.likely(newsLate);
        if (isLate) onLanded("newsLate", line.name);
        const ms = isLate ? this.#chance.below(slowMs) : this.#way(false);
        timeline.after(ms, () => timeline.post(line.loop, () => line.tell(ELSEWHERE)));
      }
      if (isDoubled) onLanded("newsDoubled", line.name);
    }
  }
}
