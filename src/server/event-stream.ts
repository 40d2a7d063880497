// Server-sent events: a source of events as the body of an answer.
//   ES1. Pulled, not pushed: a slow reader makes the source wait, and nothing piles up.
//   ES2. A comment is sent when nothing else was for `heartbeatMs`, so that both ends notice a dead line. Whether the
//        caller still has access is checked elsewhere, on a clock (access-watch.ts): a busy stream sends no comments.
//   ES3. Whoever goes away, the source ends: its signal is aborted, its `finally` blocks run, its slot is free.
//   ES4. The stream itself never fails: a source that throws becomes an `error` event, then the end.

import { problemOf } from "./problems.ts";
import type { StreamSlot } from "./slots.ts";

export interface ServerSentEvent {
  readonly event: string;
  readonly data: unknown;
}
type Source = AsyncGenerator<ServerSentEvent, void, undefined>;

const RETRY_MS = 2_000;
const encoder = new TextEncoder();

export function eventStream(options: {
  readonly slot: StreamSlot;
  readonly source: Source;
  readonly heartbeatMs: number;
}): ReadableStream<Uint8Array> {
  const { slot, heartbeatMs } = options;
  const steps = new Steps(options.source, slot.signal);
  let count = 0;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`));
    },
    async pull(controller) {
      const write = (text: string): void => controller.enqueue(encoder.encode(text));
      const step = await steps.next(heartbeatMs);
      if (step.kind === "event") return write(textOf(step.event, (count += 1)));
      if (step.kind === "beat") return write(": beat\n\n");
      if (step.kind === "failed") {
        write(textOf({ event: "error", data: problemOf(step.error) }, (count += 1)));
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

/** What comes next: an event, the end, or nothing for a while. One promise at a time waits for the source. */
class Steps {
  readonly #source: Source;
  readonly #signal: AbortSignal;
  #asked = false;
  #ready: Step | null = null;
  #waiter: ((step: Step) => void) | null = null;

  constructor(source: Source, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
    const leave = (): void => {
      this.#offer({ kind: "over" });
      // Between two events the source stands at a `yield`, where its signal does not reach it.
      source.return().catch(() => undefined);
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
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
      const timer = setTimeout(() => this.#tell({ kind: "beat" }), heartbeatMs);
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
    if (this.#waiter !== null) this.#tell(this.#take(step));
  }

  #take(step: Step): Step {
    if (step.kind !== "over") this.#ready = null;
    return step;
  }

  #tell(step: Step): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.(step);
  }
}

function stepOf(result: IteratorResult<ServerSentEvent, void>): Step {
  return result.done === true ? { kind: "over" } : { kind: "event", event: result.value };
}

/** JSON holds no line break, so that its text is one line of data. */
function textOf({ event, data }: ServerSentEvent, id: number): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
