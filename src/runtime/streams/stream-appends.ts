// Stream appends: when the unwritten values of all attempts of this runtime are appended.
//   - stream-appends.1: After a pause, values are appended at once. After that, what has gathered is appended every
//     GATHER_MS, and a stream with APPEND_BYTES_MAX waiting bytes at once. The committer writes the appends of many
//     streams in one transaction.

import type { Committer } from "../../core/commit/committer.ts";
import { errorMessage, PerdureError } from "../../core/errors/errors.ts";
import type { AppendItem } from "../../core/provider/streams.ts";
import type { TaskClaim } from "../../core/provider/tasks.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import type { Environment, TimerHandle } from "../../core/time/environment.ts";
import { AttemptStreams, type Appender, type AttemptStream } from "./attempt-streams.ts";
import type { WritingAttempt } from "./attempt-streams.ts";

/** How long values wait at most (stream-appends.1). */
export const GATHER_MS = 25;
const RUN_BYTES = 9;

export interface StreamAppendsOptions {
  readonly committer: Pick<Committer, "submit">;
  readonly environment: Environment;
  /** The store no longer knows the claim: the attempt has lost its lease. */
  readonly onLost: (claim: TaskClaim) => void;
  readonly telemetry: Pick<Telemetry, "streamItems"> | null;
}

export class StreamAppends implements Appender {
  readonly #options: StreamAppendsOptions;
  readonly #waiting = new Set<AttemptStream>();
  #timer: TimerHandle | null = null;
  #gatheredAt = -Infinity;

  constructor(options: StreamAppendsOptions) {
    this.#options = options;
  }

  streamsOf(attempt: WritingAttempt): AttemptStreams {
    return new AttemptStreams(attempt, this);
  }

  newRun(): string {
    return this.#options.environment.randomHex(RUN_BYTES);
  }

  /** stream-appends.1 */
  waits(stream: AttemptStream): void {
    this.#waiting.add(stream);
    if (this.#timer !== null) return;
    const { environment } = this.#options;
    const waitMs = Math.max(this.#gatheredAt + GATHER_MS - environment.monotonic(), 0);
    this.#timer = environment.setTimer(waitMs, () => this.#gather());
  }

  sendNow(stream: AttemptStream): void {
    this.#waiting.delete(stream);
    this.#send(stream);
  }

  #gather(): void {
    this.#timer = null;
    this.#gatheredAt = this.#options.environment.monotonic();
    const streams = [...this.#waiting];
    this.#waiting.clear();
    for (const stream of streams) this.#send(stream);
  }

  #report({ name, values }: AppendItem): void {
    const { telemetry } = this.#options;
    telemetry?.streamItems?.({ stream: name, direction: "written", count: values.length });
  }

  #send(stream: AttemptStream): void {
    const item = stream.take();
    if (item === null) return;
    this.#options.committer.submit(item).then(
      (result) => {
        stream.settled(result);
        if (result.kind === "done") this.#report(item);
        if (result.kind === "refused" && result.code === "LEASE_LOST") {
          this.#options.onLost(item.task);
        }
      },
      (error: unknown) => stream.fail(storeError(error)),
    );
  }
}

/** The store is closed, or it will never accept the values. */
function storeError(error: unknown): Error {
  return error instanceof Error ? error : new PerdureError("STORE_INVALID", errorMessage(error));
}
