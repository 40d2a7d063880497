// What a peer must provide that is a job queue and has no programs of several steps: W16 alone runs on it.
//   - An adapter uses the peer as its documentation says, with the best settings found: no batching, no caching, no
//       shortcut that a user of the peer would not have. Its head lists the settings, with reasons.
//   - There is one setting per peer. The defaults of some would take hours: pg-boss runs one job every two seconds.

import type { JobLoad, JobQueue } from "../jobs.ts";
import { forEachOf } from "../measure.ts";
import type { Setting } from "../subject.ts";
import type { Served } from "./peer.ts";

export interface QueuePlace extends Setting {
  readonly load: JobLoad;
  /** The value returned by `serve`; null for a peer without its own server. */
  readonly server: unknown;
}

export interface QueueAdapter {
  /** Starts the peer's server, if it has one; the server outlives the queues, as a database would. */
  serve?(setting: Setting): Promise<Served>;
  /** Opens the queue without a worker. */
  open(place: QueuePlace, handler: (job: number) => void): Promise<JobQueue>;
}

/** How a peer inserts many jobs best: jobs per call, and calls in flight. */
export interface Parts {
  readonly size: number;
  readonly inFlight: number;
}

/** Calls `insert` for consecutive parts of the jobs. */
export async function inParts(
  jobs: readonly number[],
  { size, inFlight }: Parts,
  insert: (part: readonly number[]) => Promise<unknown>,
): Promise<void> {
  await forEachOf(Math.ceil(jobs.length / size), inFlight, async (index) => {
    await insert(jobs.slice(index * size, (index + 1) * size));
  });
}
