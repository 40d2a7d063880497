// Server-sent events: turns a generator of events into the body of an answer.
//   - The reader pulls events: a slow reader makes the generator wait, and nothing accumulates.
//   - After `heartbeatMs` without an event the server sends a comment, so that both sides notice a dead
//        connection. Access is checked separately, on a timer (access-watch.ts), because a busy stream sends
//        no comments.
//   - When the reader disconnects or the slot is released, the generator ends: its signal aborts, its
//        `finally` blocks run and its slot is free.
//   - The stream never fails: an error of the generator becomes an `error` event, followed by the end.

import { problemOf } from "./problems.ts";
import type { StreamSlot } from "../security/concurrency-slots.ts";

export interface ServerSentEvent {
  readonly event: string;
  readonly data: unknown;
  /** What a client that reconnects sends as Last-Event-ID. */
  readonly id?: number | "end";
}
type Source = AsyncGenerator<ServerSentEvent, void, undefined>;

const RETRY_MS = 2_000;
const encoder = new TextEncoder();

export function eventStream(options: {
  readonly slot: StreamSlot;
  readonly source: Source;
  readonly heartbeatMs: number;
  /** Whether the events have ids, so that a client can resume. Otherwise their ids are their numbers. */
  readonly resumes?: true;
}): ReadableStream<Uint8Array> {
  const { slot, heartbeatMs, resumes = false } = options;
  const steps = new Steps(options.source, slot.signal);
  let count = 0;
  // An event without an id leaves the client's Last-Event-ID as it was.
  const written = (event: ServerSentEvent): string =>
    textOf(event, resumes ? event.id : (count += 1));
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`));
    },
    async pull(controller) {
      const write = (text: string): void => controller.enqueue(encoder.encode(text));
      const step = await steps.next(heartbeatMs);
      if (step.kind === "event") return write(written(step.event));
      if (step.kind === "beat") return write(": beat\n\n");
      if (step.kind === "failed") {
        write(written({ event: "error", data: problemOf(step.error) }));
      }
      slot.release();
      controller.close();
    },
    cancel() {
      slot.release();
    },
  });
}

type Step =
  | { readonly kind: "event"; readonly event: ServerSentEvent }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "beat" }
  | { readonly kind: "over" };

/**
 * The next step of a stream: an event, the end, an error or a heartbeat. One promise at a time waits for the
 * source.
 */
class Steps {
  readonly #source: Source;
  readonly #signal: AbortSignal;
  #asked = false;
  #ready: Step | null = null;
  #waiter: ((step: Step) => void) | null = null;

  constructor(source: Source, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
    const end = (): void => {
      this.#offer({ kind: "over" });
      // Between two events the generator is suspended at a `yield` and does not notice its signal.
      source.return().catch(() => undefined);
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  }

  next(heartbeatMs: number): Promise<Step> {
    if (!this.#asked && !this.#signal.aborted) {
      this.#asked = true;
      const answered = (step: Step): void => {
        this.#asked = false;
        this.#offer(step);
      };
      this.#source.next().then(
        (result) => answered(stepOf(result)),
        (error: unknown) => answered({ kind: "failed", error }),
      );
    }
    return new Promise((resolve) => {
      if (this.#ready !== null) return resolve(this.#take(this.#ready));
      const timer = setTimeout(() => this.#resolve({ kind: "beat" }), heartbeatMs);
      timer.unref();
      this.#waiter = (step) => {
        clearTimeout(timer);
        resolve(step);
      };
    });
  }

  #offer(step: Step): void {
    if (this.#ready?.kind === "over") return;
    this.#ready = step;
    if (this.#waiter !== null) this.#resolve(this.#take(step));
  }

  #take(step: Step): Step {
    if (step.kind !== "over") this.#ready = null;
    return step;
  }

  #resolve(step: Step): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.(step);
  }
}

function stepOf(result: IteratorResult<ServerSentEvent, void>): Step {
  return result.done === true ? { kind: "over" } : { kind: "event", event: result.value };
}

/** The text of one event. JSON contains no line breaks, so the data is one line. */
function textOf({ event, data }: ServerSentEvent, id: number | "end" | undefined): string {
  const head = id === undefined ? "" : `id: ${id}\n`;
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
