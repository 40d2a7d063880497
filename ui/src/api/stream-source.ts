// Receives the entries of a stream as they are written.
//   - Entries are handed over in batches, so that a fast stream does not render the page for every entry.
//   - An EventSource reconnects by itself and resumes after the last entry. If the server refuses the stream, the
//     reason is read with a separate request.

import { asProblem, ApiProblem } from "./problem.ts";
import { addressOf, check } from "./request.ts";
import type { StreamEntry, StreamItem, StreamReset } from "./types.ts";

export type SourceState = "connecting" | "live" | "lost";
export interface SourceOptions {
  /** Relative to the API. */
  readonly path: string;
  /** The offset of the first entry. */
  readonly from: number;
  /** Only what successful calls wrote. */
  readonly settled: boolean;
  readonly onEntries: (entries: readonly StreamEntry[]) => void;
  readonly onState: (state: SourceState) => void;
  /** The server refuses the stream, or ended it with an error. No entry follows. */
  readonly onProblem: (problem: ApiProblem) => void;
}

const BATCH_MS = 100;
const BATCH_MAX = 1_000;

export class StreamSource {
  readonly #options: SourceOptions;
  readonly #address: string;
  readonly #source: EventSource;
  readonly #controller = new AbortController();
  #batch: StreamEntry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SourceOptions) {
    this.#options = options;
    const { path, from, settled } = options;
    this.#address = addressOf(path, { from, settled: settled ? true : undefined });
    this.#source = new EventSource(this.#address);
    this.#source.addEventListener("open", () => options.onState("live"));
    this.#source.addEventListener("item", ({ data }: MessageEvent<string>) => {
      const item = JSON.parse(data) as StreamItem; // the route's schema defines the type
      this.#add({ ...item, kind: "item", chars: data.length });
    });
    this.#source.addEventListener("reset", ({ data }: MessageEvent<string>) => {
      this.#add({ ...(JSON.parse(data) as StreamReset), kind: "reset" }); // the route's schema
    });
    this.#source.addEventListener("end", () => {
      this.#add({ kind: "end" });
      this.#flush();
      this.close();
    });
    // An event of the server with this name has data. The browser's own event has none.
    this.#source.addEventListener("error", (event) => this.#failed(event));
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#controller.abort();
    this.#source.close();
  }

  #add(entry: StreamEntry): void {
    this.#batch.push(entry);
    if (this.#batch.length >= BATCH_MAX) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const entries = this.#batch;
    this.#batch = [];
    if (entries.length > 0 && !this.#controller.signal.aborted) this.#options.onEntries(entries);
  }

  #failed(event: Event): void {
    const { onState, onProblem } = this.#options;
    this.#flush();
    if (event instanceof MessageEvent) {
      const { code, detail } = JSON.parse(String(event.data)) as { code: string; detail: string };
      this.close();
      onProblem(new ApiProblem(code, 0, detail));
      return;
    }
    onState("lost");
    if (this.#source.readyState !== EventSource.CLOSED) return;
    const { signal } = this.#controller;
    check(this.#address, signal).then(
      () => onProblem(new ApiProblem("OFFLINE", 0, "The connection was lost.")),
      (error: unknown) => {
        if (!signal.aborted) onProblem(asProblem(error));
      },
    );
  }
}
