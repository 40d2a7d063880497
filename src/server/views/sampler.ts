// The sampler: reads the store's metrics periodically, so that the overview can show their recent history.
//   - It keeps the last `samplesMax` samples in memory. They are lost when the process restarts.
//   - A rate is the difference of two samples. Deleting instances lowers the counts, so a rate can be too
//        low after a deletion; it is never negative.
//   - Sampling takes at most 1/50 of the time: a slow store is sampled less often.
//   - `metrics()` returns metrics that are at most one second old. Concurrent callers share one query.

import type * as v from "valibot";
import type { Client } from "../../client/client.ts";
import type { Metrics } from "../../client/inspect/unclaimed.ts";
import type { LogSink } from "../../core/telemetry/log.ts";
import { TERMINAL_STATUSES } from "../../core/provider/instances.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { repeat } from "../http/pauses.ts";
import type { sample } from "../schemas/store.ts";

export type SampleShape = v.InferInput<typeof sample>;

const SHARE = 50;
const FRESH_MS = 1_000;
/** How many ended instances, the newest first, are read to compute the latency. */
const LOOKED_AT = 200;

interface Look {
  readonly at: number;
  readonly metrics: Metrics;
}

export class Sampler {
  readonly #client: Client;
  readonly #provider: Provider;
  readonly #options: { readonly sampleMs: number; readonly samplesMax: number };
  readonly #log: LogSink;
  readonly #samples: SampleShape[] = [];
  #last: Look | null = null;
  #stop: (() => void) | null = null;
  #fresh: { readonly at: number; readonly metrics: Promise<Metrics> } | null = null;

  constructor(
    client: Client,
    provider: Provider,
    options: { readonly sampleMs: number; readonly samplesMax: number; readonly log: LogSink },
  ) {
    this.#client = client;
    this.#provider = provider;
    this.#options = options;
    this.#log = options.log;
  }

  get samples(): readonly SampleShape[] {
    return this.#samples;
  }

  start(): void {
    const { sampleMs } = this.#options;
    if (sampleMs === 0 || this.#stop !== null) return;
    this.#stop = repeat(async () => {
      const began = performance.now();
      await this.take().catch((error: unknown) => {
        this.#log("debug", "sampling the store failed", { error });
      });
      return Math.max(sampleMs, SHARE * (performance.now() - began));
    });
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
  }

  /** The metrics of the store, at most one second old. */
  metrics(): Promise<Metrics> {
    const now = performance.now();
    if (this.#fresh === null || now - this.#fresh.at > FRESH_MS) {
      const metrics = this.#client.metrics();
      this.#fresh = { at: now, metrics };
      metrics.catch(() => (this.#fresh = null));
    }
    return this.#fresh.metrics;
  }

  /** Takes one sample now. The rates of the first sample are 0. */
  async take(): Promise<void> {
    const metrics = await this.#client.metrics();
    const queues = await this.#client.queues();
    const look: Look = { at: this.#provider.now(), metrics };
    const before = this.#last ?? look;
    const latency = await this.#latency(before.at);
    this.#last = look;
    this.#samples.push({
      at: new Date(look.at).toISOString(),
      ...rates(before, look),
      running: metrics.instances.running,
      waitingTasks: metrics.waitingTasks,
      runningTasks: metrics.runningTasks,
      dueMessages: metrics.dueMessages,
      blocked: metrics.blocked,
      oldestTaskMs: Math.max(0, ...queues.map(({ oldestAgeMs }) => oldestAgeMs ?? 0)),
      ...(latency === null ? {} : { latency }),
    });
    const excess = this.#samples.length - this.#options.samplesMax;
    if (excess > 0) this.#samples.splice(0, excess);
  }

  async #latency(since: number): Promise<NonNullable<SampleShape["latency"]> | null> {
    const page = await this.#provider.findInstances({
      filter: { status: TERMINAL_STATUSES },
      order: "newest",
      limit: LOOKED_AT,
      cursor: null,
    });
    const taken = page.items
      .flatMap(({ createdAt, completedAt }) =>
        completedAt !== null && completedAt > since ? [Math.max(0, completedAt - createdAt)] : [],
      )
      .sort((a, b) => a - b);
    if (taken.length === 0) return null;
    const at = (share: number): number => taken[Math.floor(share * (taken.length - 1))] ?? 0;
    return { p50Ms: at(0.5), p95Ms: at(0.95), count: taken.length };
  }
}

function rates(
  before: Look,
  now: Look,
): Pick<SampleShape, "startedRate" | "completedRate" | "endedOtherwiseRate" | "eventRate"> {
  const seconds = (now.at - before.at) / 1_000;
  const rate = (count: (look: Look) => number): number =>
    seconds <= 0 ? 0 : Math.max(0, count(now) - count(before)) / seconds;
  return {
    startedRate: rate(({ metrics: { instances } }) =>
      Object.values(instances).reduce((sum, count) => sum + count, 0),
    ),
    completedRate: rate(({ metrics }) => metrics.instances.completed),
    endedOtherwiseRate: rate(({ metrics: { instances } }) => {
      const { failed, cancelled, terminated } = instances;
      return failed + cancelled + terminated;
    }),
    eventRate: rate(({ metrics }) => metrics.events),
  };
}
