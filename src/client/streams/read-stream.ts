// A reader of a stream: yields its entries in order, waits at its end, and ends when the stream is over.
//   - read-stream.1: Nothing is read before the first call of `next`, and no further page before the last entry of
//     the current one was taken. A slow reader needs no memory for what it has not read.
//   - read-stream.2: With `settled` the reader waits at items whose call has no outcome yet, and skips void items
//     and resets. So the order of the offsets is kept.
//   - read-stream.3: `return` and the signal also end a wait. Aborting the signal throws its reason.
//   - read-stream.4: A reader that has taken everything up to the end of a live stream waits for the next change after
//     the read of its page. It does not read again to find nothing.

import { checkFlag, checkInteger, checkMembers, invalidArgument } from "../../core/checks.ts";
import type { Members } from "../../core/checks.ts";
import { readableStreamName, type AnyStream } from "../../core/define/stream.ts";
import type { StreamChunk, StreamItems, StreamPage } from "../../core/provider/streams.ts";
import { damagedPart } from "../outcome.ts";
import { notFound, type Store } from "../store.ts";
import { checkSignal } from "../waiting.ts";
import type { StreamEntry } from "./entries.ts";
import { endOf, StreamHub, type HubTarget, type ReadPage } from "./stream-hub.ts";

/** Options of `handle.stream`. */
export interface ReadStreamOptions {
  /** The offset of the first entry to read. Default: the first entry that is not trimmed. */
  readonly from?: number;
  /** Reads only what the orchestration and successful calls wrote, without resets. Default false. */
  readonly settled?: boolean;
  /** Ends the read: the iteration throws the signal's reason. */
  readonly signal?: AbortSignal;
}
const OPTIONS: Members<ReadStreamOptions> = { from: true, settled: true, signal: true };

/** Throws for invalid arguments; returns the name of the stream. */
export function checkReadStream(
  stream: AnyStream | string,
  options: ReadStreamOptions,
  what: string,
): string {
  const name = readableStreamName(stream);
  checkMembers(options, OPTIONS, what);
  checkInteger(options.from, 0, "from");
  checkFlag(options.settled, "settled");
  checkSignal(options.signal);
  return name;
}

/** An iterator whose `return` ends a `next` that waits (read-stream.3). */
export function readStream(
  store: Store,
  target: HubTarget,
  { from, signal }: ReadStreamOptions,
): AsyncIterableIterator<StreamEntry, undefined, undefined> {
  const returned = new AbortController();
  const reader = new Reader(store, target);
  const entries = reader.entries(from, signal, returned.signal);
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      try {
        return await entries.next();
      } catch (error) {
        if (!returned.signal.aborted) throw error;
        return { done: true, value: undefined };
      }
    },
    async return() {
      returned.abort();
      await entries.return(undefined).catch(() => undefined);
      return { done: true, value: undefined };
    },
  };
}

class Reader {
  readonly #store: Store;
  readonly #target: HubTarget;
  readonly #stop = new AbortController();
  #cursor = 0;

  constructor(store: Store, target: HubTarget) {
    this.#store = store;
    this.#target = target;
  }

  /** Each of the signals ends the reader with its reason. */
  async *entries(
    from: number | undefined,
    ...signals: readonly (AbortSignal | undefined)[]
  ): AsyncGenerator<StreamEntry, undefined, undefined> {
    for (const signal of signals) signal?.throwIfAborted();
    const stop = (event: Event): void => this.#stop.abort((event.target as AbortSignal).reason);
    for (const signal of signals) signal?.addEventListener("abort", stop, { once: true });
    const hub = StreamHub.join(this.#store, this.#target);
    try {
      yield* this.#read(hub, from);
    } finally {
      hub.leave();
      for (const signal of signals) signal?.removeEventListener("abort", stop);
    }
    return undefined;
  }

  async *#read(
    hub: StreamHub,
    from: number | undefined,
  ): AsyncGenerator<StreamEntry, void, undefined> {
    this.#cursor = from ?? 0;
    let page = await this.#unlessStopped(hub.read(this.#cursor));
    const { key } = page;
    if (from === undefined) this.#cursor = page.first;
    for (;;) {
      this.#check(page, key);
      const start = this.#cursor;
      for (const chunk of page.chunks) yield* this.#entriesOf(chunk);
      if (this.#isAtEnd(page)) {
        yield { kind: "end" };
        return;
      }
      if (this.#cursor === start || this.#isAtTail(page)) await this.#change(hub, page);
      this.#stop.signal.throwIfAborted();
      page = hub.cached(key, this.#cursor) ?? (await this.#unlessStopped(hub.read(this.#cursor)));
    }
  }

  #check({ key, first }: StreamPage, expected: number): void {
    const { id, name } = this.#target;
    if (key !== expected) throw notFound(id); // deleted, and its id started again
    if (this.#cursor >= first) return;
    const what = `The entries of stream "${name}" of instance "${id}" before offset ${first} are trimmed`;
    throw invalidArgument(`${what}; from must be at least ${first}; got ${this.#cursor}.`);
  }

  #isAtEnd({ first, next, isOver }: StreamPage): boolean {
    if (!isOver || this.#cursor < next) return false;
    if (this.#cursor === next) return true;
    const { id, name } = this.#target;
    const range = first === next ? `${next}` : `a whole number from ${first} to ${next}`;
    const what = `Stream "${name}" of instance "${id}" is over`;
    throw invalidArgument(`${what}; from must be ${range}; got ${this.#cursor}.`);
  }

  /** Whether the page had everything, so that nothing follows before the next change (read-stream.4). */
  #isAtTail({ next, goesOn }: ReadPage): boolean {
    return goesOn && this.#cursor === next;
  }

  *#entriesOf(chunk: StreamChunk): Generator<StreamEntry, void, undefined> {
    if (endOf(chunk) <= this.#cursor) return;
    const { settled } = this.#target;
    if (chunk.kind === "items" && !(settled && chunk.state === "void")) {
      yield* this.#items(chunk);
    } else if (chunk.kind === "reset" && !settled) {
      const { offset, call, from } = chunk;
      this.#cursor = endOf(chunk);
      yield { kind: "reset", offset, call, from };
    } else this.#cursor = endOf(chunk);
  }

  *#items(chunk: StreamItems): Generator<StreamEntry, void, undefined> {
    if (chunk.damaged === true) throw this.#damaged();
    const { call, offset: first } = chunk;
    const end = endOf(chunk);
    while (this.#cursor < end) {
      this.#stop.signal.throwIfAborted();
      const offset = this.#cursor;
      const text = chunk.values[offset - first];
      if (text === undefined) throw this.#damaged();
      const value = this.#store.codec.decode(text);
      this.#cursor++;
      yield { kind: "item", offset, call, value };
    }
  }

  #damaged(): Error {
    const { id, name } = this.#target;
    return damagedPart({ id }, `entry ${this.#cursor} of stream "${name}"`);
  }

  async #change(hub: StreamHub, page: ReadPage): Promise<void> {
    const { changed, stop } = hub.nextChange(page);
    try {
      await this.#unlessStopped(changed);
    } finally {
      stop();
    }
  }

  /** Rejects with the signal's reason as soon as it aborts. */
  async #unlessStopped<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this.#stop;
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([promise, stopped]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}
