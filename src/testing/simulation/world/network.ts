// Network between the processes and the store: delays, fails or drops calls, replies and notifications.
//   - A call that fails "before" was not executed. A call that fails "after" was executed, but its reply is
//        lost (I14).
//   - network.1: Calls in flight when their process crashes may still reach the store.
//   - Notifications may be lost, duplicated or late. The caller receives notifications of its own call with
//        the reply, never earlier (notifications.1).
//   - A store that is down, or whose disk is full, rejects the call without executing it.
//   - After faults have stopped no call fails, and everything in flight arrives.
//   - A store that forgot commits counts as another server: calls in flight to the old server never arrive.

import type { News } from "../../../core/provider/notifications.ts";
import { isRead, unavailable, type Method } from "../calls.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Line } from "../line.ts";
import type { SimulatedStore } from "./simulated-store.ts";
import type { Timeline } from "../timeline.ts";

/** Fault probabilities per call or notification, and delays. */
export interface NetworkFaults {
  readonly failBefore: number;
  readonly failAfter: number;
  readonly slow: number;
  /** The maximum delay of a slow call or reply. */
  readonly slowMs: number;
  readonly newsLost: number;
  readonly newsDoubled: number;
  readonly newsLate: number;
  /** The maximum ordinary delay in one direction. */
  readonly latencyMs: number;
}

/** A network without faults. */
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
  readonly random: SeededRandom;
  readonly faults: NetworkFaults;
  /** Called when a fault has an effect. */
  readonly onLanded: (kind: string, what: string) => void;
}

const ELSEWHERE: News = { due: [], changed: [], tasks: false, elsewhere: true };

export class Network {
  readonly #o: NetworkOptions;
  readonly #lines = new Set<Line>();
  readonly #random: SeededRandom;
  #faults: NetworkFaults;
  isStoreDown = false;
  isDiskFull = false;

  constructor(options: NetworkOptions) {
    this.#o = options;
    this.#random = options.random;
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
      if (line.isSevered && this.#random.likely(0.5)) return;
      const refusal = this.#refusal(method, fate.before || server !== this.#o.store.server);
      if (refusal !== null) return this.#travel(line, () => reject(refusal));
      void this.#o.store.carryOut(line.name, method, args).then(
        ({ result, news }) => {
          if (news.length > 0) this.#tellOthers(line);
          this.#travel(
            line,
            () => {
              if (fate.after)
                return reject(unavailable(method, "the connection broke after the call"));
              for (const piece of news) line.deliver(piece);
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
    const random = this.#random;
    const before = random.likely(failBefore);
    const after = !before && random.likely(failAfter);
    const isSlow = random.likely(slow);
    const slowCall = isSlow && random.likely(0.5);
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
    return unavailable(method, "the connection broke before the call");
  }

  /** Delivers after a delay. A reply to a crashed process is dropped. */
  #travel(line: Line, deliver: () => void, slow = false): void {
    const { timeline } = this.#o;
    timeline.after(this.#wayOf(line, slow), () => timeline.post(line.loop, deliver));
  }

  /** The delay in one direction: the drawn latency, or the time until the partition ends. */
  #wayOf(line: Line, slow: boolean): number {
    return Math.max(this.#way(slow), line.cutUntilMs - this.#o.timeline.now);
  }

  #way(slow: boolean): number {
    const { latencyMs, slowMs } = this.#faults;
    return slow ? this.#random.below(slowMs) : this.#random.below(latencyMs + 1);
  }

  #tellOthers(sender: Line): void {
    const { newsLost, newsDoubled, newsLate, slowMs } = this.#faults;
    const { timeline, onLanded } = this.#o;
    for (const line of this.#lines) {
      if (line === sender || !line.isListening) continue;
      if (this.#random.likely(newsLost)) {
        onLanded("newsLost", line.name);
        continue;
      }
      const isDoubled = this.#random.likely(newsDoubled);
      for (let copies = isDoubled ? 2 : 1; copies > 0; copies--) {
        const isLate = this.#random.likely(newsLate);
        if (isLate) onLanded("newsLate", line.name);
        const ms = isLate ? this.#random.below(slowMs) : this.#way(false);
        timeline.after(ms, () => timeline.post(line.loop, () => line.deliver(ELSEWHERE)));
      }
      if (isDoubled) onLanded("newsDoubled", line.name);
    }
  }
}
