// Slots: how much may be under way at once.
//   SL1. Requests: at most `requestsMax` at a time; one more is 503. Streams and long waits hold a slot of their
//        own kind, at most `streamsMax` in all and `streamsPerCallerMax` a caller; one more is 429.
//   SL2. A slot is given back exactly once, however its request ends; closing the server ends all of them.

import { Refusal } from "./problems.ts";

const RETRY = { "Retry-After": "1" };

export interface SlotLimits {
  readonly requestsMax: number;
  readonly streamsMax: number;
  readonly streamsPerCallerMax: number;
}

/** A stream's place, and the signal that ends it. */
export interface StreamSlot {
  readonly signal: AbortSignal;
  /** Ends it, and gives its place back. */
  release(): void;
}

export class Slots {
  readonly #limits: SlotLimits;
  readonly #streams = new Map<AbortController, string>();
  #requests = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** Runs what answers one request. */
  async request<T>(answer: () => Promise<T>): Promise<T> {
    if (this.#requests >= this.#limits.requestsMax)
      throw new Refusal("OVERLOADED", undefined, RETRY);
    this.#requests += 1;
    try {
      return await answer();
    } finally {
      this.#requests -= 1;
    }
  }

  /** A place for something that lasts; it ends with the request's own signal too. */
  stream(caller: string, requestSignal: AbortSignal): StreamSlot {
    const { streamsMax, streamsPerCallerMax } = this.#limits;
    const own = [...this.#streams.values()].filter((name) => name === caller).length;
    if (this.#streams.size >= streamsMax || own >= streamsPerCallerMax) {
      throw new Refusal("STREAMS_EXHAUSTED", undefined, RETRY);
    }
    const controller = new AbortController();
    const release = (): void => {
      requestSignal.removeEventListener("abort", release);
      this.#streams.delete(controller);
      controller.abort();
    };
    this.#streams.set(controller, caller);
    if (requestSignal.aborted) release();
    else requestSignal.addEventListener("abort", release, { once: true });
    return { signal: controller.signal, release };
  }

  /** Ends every stream. */
  close(): void {
    for (const controller of [...this.#streams.keys()]) controller.abort();
    this.#streams.clear();
  }
}
