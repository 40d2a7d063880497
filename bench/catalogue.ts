// The workloads, in the order in which they run.
//   Owns: names, titles, and on which stores they run.  Does not own: goals (goals.ts).
//   A workload `Wx` is `workloads/wx.ts`; its limit, where it has one, is `limit/wx.ts`.

import type { Order, Run, Store, Subject } from "./subject.ts";

export interface Entry {
  readonly name: string;
  readonly title: string;
  readonly stores: readonly Store[];
  readonly limit: boolean;
}

const SQLITE: readonly Store[] = ["sqlite"];

export const WORKLOADS: readonly Entry[] = [
  { name: "W1", title: "one instance, n activities in a row", stores: SQLITE, limit: true },
  { name: "W1s", title: "one instance, n inline steps in a row", stores: SQLITE, limit: true },
  { name: "W2", title: "500 instances × 5 activities, at once", stores: SQLITE, limit: true },
  {
    ...{ name: "W2t", title: "W2 with time-outs and retries set" },
    ...{ stores: SQLITE, limit: false },
  },
  { name: "W2p", title: "W2 over 10 tags × 5 priorities", stores: SQLITE, limit: false },
  { name: "W2s", title: "W2 on 100 sessions", stores: SQLITE, limit: false },
  { name: "W2L", title: "n instances × 5 activities, 500 at a time", stores: SQLITE, limit: true },
  { name: "W2b", title: "n instances × 5 activities, all at once", stores: SQLITE, limit: false },
  { name: "W3", title: "one instance, n activities in parallel", stores: SQLITE, limit: true },
  { name: "W4", title: "start → result, one activity, idle system", stores: SQLITE, limit: true },
  { name: "W5", title: "raise an event → result, idle system", stores: SQLITE, limit: true },
  { name: "W6", title: "n sleepers; 10,000 more due at one moment", stores: SQLITE, limit: true },
  {
    name: "W7",
    title: "an evicted instance of n events gets one more",
    stores: SQLITE,
    limit: true,
  },
  { name: "W9", title: "200 instances in flight, SIGKILL", stores: SQLITE, limit: false },
];

/** Whether the subject has a program for it. */
export function has(entry: Entry, subject: Subject): boolean {
  return subject === "perdure" || entry.limit;
}

/** The program for an order. */
export async function programOf({ workload, subject }: Order): Promise<Run> {
  const folder = subject === "perdure" ? "workloads" : "limit";
  const module: unknown = await import(`./${folder}/${workload.toLowerCase()}.ts`);
  if (typeof module === "object" && module !== null && "run" in module) {
    if (typeof module.run === "function") return module.run as Run; // by the rule above
  }
  throw new Error(`bench/${folder}/${workload.toLowerCase()}.ts exports no run.`);
}
