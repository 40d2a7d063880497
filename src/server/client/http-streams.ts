// Reads a stream of an instance over HTTP. When the connection breaks, the reader connects again and continues
// after the last entry that it received. If a connection brought no entry, it waits before the next one.

import * as v from "valibot";
import type { StreamEntry } from "../../client/streams/entries.ts";
import type { ReadStreamOptions, StreamReader } from "../../client/streams/read-stream.ts";
import { returnable, type Returnable } from "../../client/streams/returnable.ts";
import { pause } from "../http/pauses.ts";
import { streamItem, streamReset } from "../schemas/streams.ts";
import { readEvents, type ReadEvent } from "./event-reader.ts";
import { streamError, type HttpTransport } from "./http-transport.ts";

const RECONNECT_MS = 100;
const RECONNECT_MS_MAX = 5_000;

export function readHttpStream(
  transport: HttpTransport,
  path: readonly string[],
  { from, settled = false, signal }: ReadStreamOptions,
): StreamReader {
  return returnable(new HttpReader(transport, path, from, settled), signal);
}

class HttpReader implements Returnable<StreamEntry> {
  readonly #transport: HttpTransport;
  readonly #path: readonly string[];
  readonly #settled: boolean;
  readonly #stop = new AbortController();
  #from: number | undefined;
  #connection: Promise<Response> | null = null;

  constructor(
    transport: HttpTransport,
    path: readonly string[],
    from: number | undefined,
    settled: boolean,
  ) {
    this.#transport = transport;
    this.#path = path;
    this.#from = from;
    this.#settled = settled;
  }

  async ready(): Promise<void> {
    await this.#connect();
  }

  stop(reason: unknown): void {
    this.#stop.abort(reason);
  }

  async *entries(): AsyncGenerator<StreamEntry, undefined, undefined> {
    const { signal } = this.#stop;
    for (let failures = 0; ; failures++) {
      if (failures > 0) await pause(Math.min(RECONNECT_MS * failures, RECONNECT_MS_MAX), signal);
      const { body } = await this.#connect();
      this.#connection = null;
      if (body === null) return;
      try {
        for await (const event of readEvents(body)) {
          failures = -1; // the next connection is opened at once
          const entry = entryOf(event);
          if (entry.kind !== "end") this.#from = entry.offset + 1;
          yield entry;
          if (entry.kind === "end") return;
        }
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof TypeError)) throw error; // fetch throws TypeError when the connection breaks
      }
    }
  }

  /** One request at a time: `ready` and the first entry use the same one. */
  #connect(): Promise<Response> {
    this.#connection ??= this.#request();
    return this.#connection;
  }

  #request(): Promise<Response> {
    this.#stop.signal.throwIfAborted();
    const query = [
      ...(this.#from === undefined ? [] : [["from", String(this.#from)] as const]),
      ...(this.#settled ? [["settled", "true"] as const] : []),
    ];
    const { signal } = this.#stop;
    return this.#transport.send({ method: "GET", path: this.#path, query, answer: null, signal });
  }
}

function entryOf({ event, data }: ReadEvent): StreamEntry {
  const json: unknown = JSON.parse(data);
  if (event === "end") return { kind: "end" };
  if (event === "reset") return { kind: "reset", ...v.parse(streamReset, json) };
  if (event === "error") throw streamError(json);
  const { offset, call, value } = v.parse(streamItem, json);
  return { kind: "item", offset, call, value };
}
