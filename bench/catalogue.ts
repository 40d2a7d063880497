// The workloads, in the order in which they run.
//   Owns: names, titles, their stores, and which subjects have a program for them.  Does not own: goals (goals.ts).
//   A workload `Wx` is `workloads/wx.ts`, and `Wx-name` is `workloads/wx/name.ts`. Its limit, if it has one, is
//   `limit/wx.ts`. Each exports a `Run` as `run`. The programs of the peers are in `peers/` (peers/catalogue.ts).

import { join } from "node:path";
import { peerHas, peerOf, peerProgram } from "./peers/catalogue.ts";
import { STORES, type Order, type Run, type Store, type Subject } from "./subject.ts";

export interface Entry {
  readonly name: string;
  readonly title: string;
  readonly stores: readonly Store[];
  readonly limit: boolean;
  /** Left out of a quick run, unless selected by name. */
  readonly slow: boolean;
}

const LIMIT = { limit: true };
const SLOW = { slow: true };

export const WORKLOADS: readonly Entry[] = [
  entry("W1", "one instance, n activities in a row", LIMIT),
  entry("W1s", "one instance, n inline steps in a row", LIMIT),
  entry("W2", "500 instances × 5 activities, at once", LIMIT),
  entry("W2t", "W2 with timeouts and retries set"),
  entry("W2p", "W2 over 10 tags × 5 priorities"),
  entry("W2s", "W2 on 100 sessions"),
  entry("W2L", "n instances × 5 activities, 500 at a time", LIMIT),
  entry("W2b", "n instances × 5 activities, all at once"),
  entry("W2x2", "W2 started by one process, run by two others", { stores: ["postgres"] }),
  entry("W3", "one instance, n activities in parallel", LIMIT),
  entry("W4", "start → result, one activity, idle system", LIMIT),
  entry("W5", "raise an event → result, idle system", LIMIT),
  entry("W6", "n sleepers; 10,000 more due at one moment", LIMIT),
  entry("W7", "an evicted instance of n events gets one more", LIMIT),
  entry("W8-linear", "flows: pickup → no-op → no-op → final", SLOW),
  entry("W8-flood", "the same, submitted faster than done", SLOW),
  entry("W8-fanout", "flows: pickup → 10 branches → join", SLOW),
  entry("W8-signal-driven", "flows: pickup → wait for a signal → final", SLOW),
  entry("W8-sleeping-giants", "flows: accept → delay → wake → final", SLOW),
  entry("W9", "200 instances in flight, SIGKILL"),
  entry("W10", "1,000 instances × 5 activities of 20 to 200 ms, results of 2 to 50 kB"),
  entry("W10n", "1,000 instances × 5 activities, results of 20 kB", LIMIT),
  entry("W11", "describing an instance of n events, and a page of its history"),
  entry("W12", "asks of entities: one at a time, 200 on one key, 500 on 500 keys"),
  entry("W13", "500 instances × 10 passages of one limiter"),
  entry("W14-many", "500 streams × 50 tokens per second, written and read in one process", SLOW),
  entry("W14-across", "n streams × 50 tokens per second, read in another process", SLOW),
  entry("W14-readers", "n readers of one stream of 50 tokens per second", SLOW),
  entry("W14-resume", "a reader begins at offset n of a live stream", SLOW),
  entry("W15", "callbacks: POST to the address → result, idle system"),
  entry("W16", "jobs that do nothing: enqueued, run, and started on an idle system"),
  entry(
    "W17-fair",
    "a queue in fair order: a small tenant behind 100,000 jobs; two tenants with weights",
    SLOW,
  ),
  entry("W17-rate", "a queue with a rate of 100 per second and more jobs than that", SLOW),
];

function entry(
  name: string,
  title: string,
  { stores = STORES, limit = false, slow = false }: Partial<Entry> = {},
): Entry {
  return { name, title, stores, limit, slow };
}

/** Whether the subject has a program for this workload. */
export function has(entry: Entry, subject: Subject, store: Store): boolean {
  const peer = peerOf(subject);
  if (peer !== undefined) return peerHas(peer, subject, entry.name, store);
  return subject === "perdure" || entry.limit;
}

/** The program for an order. */
export async function programOf(order: Order): Promise<Run> {
  const { workload, subject } = order;
  const peer = peerOf(subject);
  if (peer !== undefined) return peerProgram(peer, order);
  const file = fileOf(workload, subject);
  const module: unknown = await import(file);
  if (typeof module === "object" && module !== null && "run" in module) {
    if (typeof module.run === "function") return module.run as Run; // see the header
  }
  throw new Error(`${file} exports no run.`);
}

function fileOf(workload: string, subject: Subject): string {
  const folder = subject === "perdure" ? "workloads" : "limit";
  const file = workload.toLowerCase().replace("-", "/");
  return join(import.meta.dirname, folder, `${file}.ts`);
}
