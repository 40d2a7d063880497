// What the runners of activities and steps share: their options, and the entry into user code. An entry is
// reported to the liveness thread (what occupies the event loop), to the loop watch (how long it blocked)
// and to telemetry.

import { runAttempt, type AttemptResult } from "../../core/attempts/run-attempt.ts";
import type { AttemptClock, RunningAttempt } from "../../core/attempts/running-attempt.ts";
import type { ServiceValues } from "../../core/context/app-types.ts";
import type { Layers } from "../../core/middleware/middleware.ts";
import type { LogSink } from "../../core/telemetry/log.ts";
import type { AttemptSpan, Telemetry } from "../../core/telemetry/telemetry.ts";
import type { Codec } from "../../core/values/codec.ts";
import type { LoopWatch } from "../health/loop-watch.ts";
import { AttemptWatch } from "../health/observation.ts";
import type { Entries } from "./entries.ts";

export interface RunnerOptions extends AttemptClock {
  readonly workerId: string;
  readonly concurrency: number;
  readonly codec: Codec;
  readonly log: LogSink;
  readonly services: ServiceValues;
  /** The middleware around attempts. */
  readonly layers: Pick<Layers, "activity" | "step">;
  readonly random: () => number;
  /** Reports what is about to occupy the event loop; empty: no user code runs. */
  readonly entering: (label: string) => void;
  readonly loop: Pick<LoopWatch, "now" | "reached" | "ended">;
  readonly entries: Pick<Entries, "add">;
  readonly telemetry: Telemetry | null;
}

/** Begins to report the attempt to telemetry, if telemetry is on. */
export function observeAttempt(
  running: RunningAttempt,
  span: () => AttemptSpan,
  { telemetry, monotonic }: RunnerOptions,
): void {
  if (telemetry !== null) running.watch = new AttemptWatch(telemetry, span(), monotonic);
}

/** Calls user code in this process, and `ended` with its result, in a later microtask. */
export function enterAttempt(
  { frame, watch }: RunningAttempt,
  call: () => unknown,
  { codec, entering, loop }: RunnerOptions,
  ended: (result: AttemptResult) => void,
  ignoresValue?: () => boolean,
): void {
  const fn = watch === null ? call : (): unknown => watch.enter(call);
  entering(`${frame.kind} "${frame.name}" of ${frame.instanceId}`);
  const since = loop.now();
  void runAttempt({ frame, fn, codec, ignoresValue }).then((result) => {
    loop.ended(frame);
    ended(result);
  });
  loop.reached(frame, since);
  entering("");
}
