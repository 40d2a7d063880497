// The streams that one attempt writes to.
//   - attempt-streams.1: Each stream has at most one append in flight, so its values keep their order.
//   - attempt-streams.2: After WAITING_BYTES_MAX unwritten bytes, writers to a stream wait until half of them are
//     written. So an activity that is faster than the store needs no more memory.
//   - attempt-streams.3: After a refused append, every further write to the stream rejects with the same error. If no
//     writer got the error before the attempt ended, the attempt fails with it.

import type { StreamSink } from "../../core/attempts/stream-writer.ts";
import { streamClosed } from "../../core/define/stream.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import type { AppendItem, AppendResult } from "../../core/provider/streams.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";

const WAITING_BYTES_MAX = 256 * 1024;
/** The values of one append. A single larger value is appended alone. */
export const APPEND_BYTES_MAX = 64 * 1024;
const APPEND_VALUES_MAX = 1_000;

/** What the streams of an attempt use of their runtime (stream-appends.ts). */
export interface Appender {
  newRun(): string;
  /** The stream has unwritten values and no append in flight. */
  waits(stream: AttemptStream): void;
  /** Appends the waiting values of the stream now. */
  sendNow(stream: AttemptStream): void;
}

/** The attempt that writes. */
export interface WritingAttempt {
  readonly task: LeasedTask;
  readonly isOver: boolean;
}

export class AttemptStreams implements StreamSink {
  readonly #attempt: WritingAttempt;
  readonly #appender: Appender;
  readonly #run: string;
  readonly #streams = new Map<string, AttemptStream>();

  constructor(attempt: WritingAttempt, appender: Appender) {
    this.#attempt = attempt;
    this.#appender = appender;
    this.#run = appender.newRun();
  }

  /** How many values of this attempt the store has acknowledged. */
  get written(): number {
    let written = 0;
    for (const { position } of this.#streams.values()) written += position;
    return written;
  }

  hasCapacity(name: string): boolean {
    return !this.#attempt.isOver && (this.#streams.get(name)?.hasCapacity ?? true);
  }

  append(name: string, value: string): Promise<void> | null {
    if (this.#attempt.isOver) return Promise.reject(overError(name));
    let stream = this.#streams.get(name);
    if (stream === undefined) {
      stream = new AttemptStream(this.#attempt, { name, run: this.#run }, this.#appender);
      this.#streams.set(name, stream);
    }
    return stream.add(value);
  }

  async flush(name: string): Promise<void> {
    await this.#streams.get(name)?.flush();
  }

  /** Resolves when nothing is unwritten. Rejects with an error that no writer got (attempt-streams.3). */
  async flushAll(): Promise<void> {
    await Promise.all([...this.#streams.values()].map((stream) => stream.flushAtEnd()));
  }
}

/** What an attempt writes to one stream. */
export class AttemptStream {
  /** How many values are in the store. */
  position = 0;
  readonly #attempt: WritingAttempt;
  readonly #target: Pick<AppendItem, "name" | "run">;
  readonly #appender: Appender;
  #values: string[] = [];
  /** The bytes of all unwritten values, including those in flight. */
  #bytes = 0;
  #waitingBytes = 0;
  #inFlight: readonly string[] | null = null; // attempt-streams.1
  #error: Error | null = null;
  /** Whether a writer got the error. */
  #isReported = false;
  #capacity: PromiseWithResolvers<void> | null = null;
  #empty: PromiseWithResolvers<void> | null = null;

  constructor(
    attempt: WritingAttempt,
    target: Pick<AppendItem, "name" | "run">,
    appender: Appender,
  ) {
    this.#attempt = attempt;
    this.#target = target;
    this.#appender = appender;
  }

  get hasCapacity(): boolean {
    return this.#error === null && this.#bytes <= WAITING_BYTES_MAX;
  }

  add(value: string): Promise<void> | null {
    if (this.#error !== null) return Promise.reject(this.#report(this.#error));
    this.#values.push(value);
    this.#bytes += value.length;
    this.#waitingBytes += value.length;
    if (this.#inFlight === null) {
      if (this.#waitingBytes >= APPEND_BYTES_MAX) this.#appender.sendNow(this);
      else this.#appender.waits(this);
    }
    if (this.#bytes <= WAITING_BYTES_MAX) return null;
    this.#capacity ??= withoutUnhandled();
    return this.#capacity.promise;
  }

  async flushAtEnd(): Promise<void> {
    if (!this.#isReported) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#error !== null) throw this.#report(this.#error);
    if (this.#bytes === 0) return;
    this.#empty ??= withoutUnhandled();
    const { promise } = this.#empty;
    if (this.#inFlight === null) this.#appender.sendNow(this);
    await promise;
  }

  /** The next append; null if there is nothing to append now. */
  take(): AppendItem | null {
    if (this.#inFlight !== null || this.#values.length === 0) return null;
    if (this.#attempt.isOver) {
      this.fail(overError(this.#target.name));
      return null;
    }
    let bytes = 0;
    let count = 0;
    for (const value of this.#values) {
      bytes += value.length;
      if (count > 0 && (bytes > APPEND_BYTES_MAX || count === APPEND_VALUES_MAX)) break;
      count++;
    }
    const values = this.#values.splice(0, count);
    this.#inFlight = values;
    this.#waitingBytes -= bytesOf(values);
    const { task } = this.#attempt;
    return { kind: "append", task, ...this.#target, position: this.position, values };
  }

  /** The store has answered the append in flight. */
  settled(result: AppendResult): void {
    const values = this.#inFlight ?? [];
    this.#inFlight = null;
    if (result.kind === "refused") {
      const { name } = this.#target;
      return this.fail(result.code === "STREAM_CLOSED" ? streamClosed(name) : overError(name));
    }
    this.position += values.length;
    this.#bytes -= bytesOf(values);
    if (this.#bytes <= WAITING_BYTES_MAX / 2) this.#release();
    if (this.#bytes === 0) {
      this.#empty?.resolve();
      this.#empty = null;
    } else if (this.#empty !== null || this.#waitingBytes >= APPEND_BYTES_MAX) {
      this.#appender.sendNow(this);
    } else this.#appender.waits(this);
  }

  /** attempt-streams.3 */
  fail(error: Error): void {
    this.#inFlight = null;
    this.#error ??= error;
    this.#values = [];
    this.#bytes = 0;
    this.#waitingBytes = 0;
    if (this.#capacity !== null || this.#empty !== null) this.#isReported = true;
    this.#capacity?.reject(error);
    this.#empty?.reject(error);
    this.#capacity = null;
    this.#empty = null;
  }

  #report(error: Error): Error {
    this.#isReported = true;
    return error;
  }

  #release(): void {
    this.#capacity?.resolve();
    this.#capacity = null;
  }
}

function bytesOf(values: readonly string[]): number {
  let bytes = 0;
  for (const value of values) bytes += value.length;
  return bytes;
}

/** Several writers may wait for it, or none. */
function withoutUnhandled(): PromiseWithResolvers<void> {
  const resolvers = Promise.withResolvers<void>();
  resolvers.promise.catch(() => undefined);
  return resolvers;
}

function overError(name: string): PerdureError {
  const message = `The attempt is over, so it can no longer write to stream "${name}".`;
  return new PerdureError("LEASE_LOST", message);
}
