// The writer of a stream that an activity's function receives. It checks and encodes values and hands them over.
//   - Values keep the order of the calls of `write`, also if the schema is asynchronous.

import { invalidArgument } from "../checks.ts";
import type { StreamWriter } from "../context/activity-context.ts";
import { streamName, type AnyStream, type StreamWritten } from "../define/stream.ts";
import type { Codec } from "../values/codec.ts";
import { validate, type StandardSchema } from "../values/standard-schema.ts";

/** Takes what an attempt writes to the streams of its instance, as codec texts. */
export interface StreamSink {
  /** False: a value that is appended now waits for capacity, or the stream accepts no values. */
  hasCapacity(stream: string): boolean;
  /**
   * Appends a value. Null: there is capacity for more. Otherwise the promise resolves when there is. It rejects if
   * the stream is closed, or if the attempt is over.
   */
  append(stream: string, value: string): Promise<void> | null;
  /** Resolves when everything that the attempt wrote to this stream is in the store. */
  flush(stream: string): Promise<void>;
}

export function writeStream<S extends AnyStream | string>(
  given: S,
  sink: StreamSink,
  codec: Codec,
): StreamWriter<StreamWritten<S>> {
  const name = streamName(given);
  const schema = typeof given === "string" ? undefined : given.schema;
  return new Writer(name, schema, sink, codec);
}

class Writer implements StreamWriter<unknown> {
  readonly #name: string;
  readonly #schema: StandardSchema | undefined;
  readonly #sink: StreamSink;
  readonly #codec: Codec;
  /** The last value that its schema has not checked yet. Never rejects. */
  #checking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(name: string, schema: StandardSchema | undefined, sink: StreamSink, codec: Codec) {
    this.#name = name;
    this.#schema = schema;
    this.#sink = sink;
    this.#codec = codec;
  }

  async write(value: unknown): Promise<void> {
    if (this.#isClosed) {
      throw invalidArgument(`This writer of stream "${this.#name}" is closed.`);
    }
    if (this.#schema === undefined) return this.#append(value);
    const checked = validate(this.#schema, value, `value of stream "${this.#name}"`);
    const appended = Promise.all([checked, this.#checking]).then(([each]) => this.#append(each));
    this.#checking = appended.catch(() => undefined);
    return appended;
  }

  async #append(value: unknown): Promise<void> {
    const full = this.#sink.append(this.#name, this.#codec.encode(value));
    if (full !== null) await full;
  }

  async flush(): Promise<void> {
    await this.#checking;
    await this.#sink.flush(this.#name);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
