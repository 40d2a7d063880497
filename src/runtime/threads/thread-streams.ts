// What an activity in a thread writes to streams, sent to the runtime.
//   - After UNANSWERED_MAX bytes that the runtime has not answered, writers wait. The runtime answers a value at once
//     while it has capacity itself (attempt-streams.2).

import type { StreamSink } from "../../core/attempts/stream-writer.ts";
import { fromFailure, type Failure } from "../../core/errors/failure.ts";
import type { FromThread, ToThread } from "./thread-messages.ts";

const UNANSWERED_MAX = 64 * 1024;

interface Unanswered extends PromiseWithResolvers<void> {
  readonly stream: string;
  readonly bytes: number;
}

export class ThreadStreams implements StreamSink {
  readonly #id: number;
  readonly #post: (message: FromThread) => void;
  readonly #unanswered = new Map<number, Unanswered>();
  /** The first error of each stream. Further writes to it reject. */
  readonly #errors = new Map<string, Error>();
  #bytes = 0;
  #lastNumber = 0;

  /** `id`: the number of the attempt. */
  constructor(id: number, post: (message: FromThread) => void) {
    this.#id = id;
    this.#post = post;
  }

  hasCapacity(stream: string): boolean {
    return this.#bytes <= UNANSWERED_MAX && !this.#errors.has(stream);
  }

  append(stream: string, value: string): Promise<void> | null {
    const error = this.#errors.get(stream);
    if (error !== undefined) return Promise.reject(error);
    const { number, promise } = this.#ask(stream, value.length);
    this.#post({ kind: "append", id: this.#id, number, stream, value });
    return this.#bytes <= UNANSWERED_MAX ? null : promise;
  }

  flush(stream: string): Promise<void> {
    const error = this.#errors.get(stream);
    if (error !== undefined) return Promise.reject(error);
    const { number, promise } = this.#ask(stream, 0);
    this.#post({ kind: "flush", id: this.#id, number, stream });
    return promise;
  }

  written({ number, failure }: Extract<ToThread, { kind: "written" }>): void {
    const asked = this.#unanswered.get(number);
    if (asked === undefined) return;
    this.#unanswered.delete(number);
    this.#bytes -= asked.bytes;
    if (failure === null) return asked.resolve();
    const error = fromFailure(JSON.parse(failure) as Failure); // written by pool-thread.ts
    if (!this.#errors.has(asked.stream)) this.#errors.set(asked.stream, error);
    asked.reject(error);
  }

  #ask(stream: string, bytes: number): { number: number; promise: Promise<void> } {
    const number = ++this.#lastNumber;
    const resolvers = Promise.withResolvers<void>();
    resolvers.promise.catch(() => undefined); // the next write, or the end of the attempt, reports it
    this.#unanswered.set(number, { ...resolvers, stream, bytes });
    this.#bytes += bytes;
    return { number, promise: resolvers.promise };
  }
}
