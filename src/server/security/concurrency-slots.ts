// Slots: limit the number of concurrent requests and streams.
//   - At most `requestsMax` requests run concurrently; the next one gets 503. Streams and long waits use
//        stream slots: at most `streamsMax` in total and `streamsPerCallerMax` per caller; the next one gets
//        429.
//   - A slot is released exactly once, however its request ends. Closing the server releases all slots.

import { Refusal } from "../http/problems.ts";

const RETRY = { "Retry-After": "1" };

export interface SlotLimits {
  readonly requestsMax: number;
  readonly streamsMax: number;
  readonly streamsPerCallerMax: number;
}

/** The slot of a stream, and the signal that ends the stream. */
export interface StreamSlot {
  readonly signal: AbortSignal;
  /** Ends the stream and frees the slot. */
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

  /** Runs the handler of one request in a request slot. */
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

  /** Takes a stream slot. The request's signal releases it too. */
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
