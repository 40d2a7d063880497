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
import { returnable, type Returnable } from "./returnable.ts";
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

/** Reads a stream, entry by entry. Leave the loop, abort the signal or call `return` to stop. */
export interface StreamReader<T = unknown> extends AsyncIterableIterator<
  StreamEntry<T>,
  undefined,
  undefined
> {
  /**
   * Resolves when the first part of the stream is read. Rejects if the instance does not exist, or if `from` is
   * outside the stream. Calling it is optional: otherwise the first `next` rejects.
   */
  ready(): Promise<void>;
  return(): Promise<IteratorResult<StreamEntry<T>, undefined>>;
}

export function readStream(
  store: Store,
  target: HubTarget,
  { from, signal }: ReadStreamOptions,
): StreamReader {
  return returnable(new Reader(store, target, from), signal);
}

/** read-stream.1 */
class Reader implements Returnable<StreamEntry> {
  readonly #store: Store;
  readonly #target: HubTarget;
  readonly #from: number | undefined;
  readonly #stop = new AbortController();
  #hub: StreamHub | null = null;
  #begun: Promise<ReadPage> | null = null;
  #cursor = 0;

  constructor(store: Store, target: HubTarget, from: number | undefined) {
    this.#store = store;
    this.#target = target;
    this.#from = from;
  }

  async ready(): Promise<void> {
    await this.#begin();
  }

  stop(reason: unknown): void {
    this.#stop.abort(reason);
    this.#leave();
  }

  #leave(): void {
    this.#hub?.leave();
    this.#hub = null;
  }

  /** Joins the readers of the stream, and reads the first page. */
  #begin(): Promise<ReadPage> {
    this.#begun ??= this.#readFirst();
    return this.#begun;
  }

  async #readFirst(): Promise<ReadPage> {
    this.#stop.signal.throwIfAborted();
    const hub = (this.#hub = StreamHub.join(this.#store, this.#target));
    try {
      this.#cursor = this.#from ?? 0;
      const page = await this.#unlessStopped(hub.read(this.#cursor));
      if (this.#from === undefined) this.#cursor = page.first;
      this.#check(page, page.key);
      this.#isAtEnd(page);
      return page;
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  async *entries(): AsyncGenerator<StreamEntry, undefined, undefined> {
    try {
      let page = await this.#begin();
      const { key } = page;
      for (;;) {
        this.#check(page, key);
        const start = this.#cursor;
        for (const chunk of page.chunks) yield* this.#entriesOf(chunk);
        if (this.#isAtEnd(page)) {
          yield { kind: "end" };
          return;
        }
        this.#stop.signal.throwIfAborted();
        if (this.#cursor === start || this.#isAtTail(page)) await this.#change(page);
        page = await this.#pageAt(key);
      }
    } finally {
      this.#leave();
    }
  }

  async #pageAt(key: number): Promise<ReadPage> {
    const hub = this.#joined();
    return hub.cached(key, this.#cursor) ?? (await this.#unlessStopped(hub.read(this.#cursor)));
  }

  /** Throws the signal's reason after `stop`. */
  #joined(): StreamHub {
    this.#stop.signal.throwIfAborted();
    if (this.#hub === null) throw new Error("The reader has left its stream.");
    return this.#hub;
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
    const { settled } = this.#target; // read-stream.2
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
    const count = end - this.#cursor;
    const { name: stream } = this.#target;
    this.#store.telemetry?.streamItems?.({ stream, direction: "read", count });
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

  async #change(page: ReadPage): Promise<void> {
    const { changed, stop } = this.#joined().nextChange(page);
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
