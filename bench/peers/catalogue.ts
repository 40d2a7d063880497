// The engines that are measured alongside Perdure, with their stores and workloads.
//   A peer `x` is `adapters/x.ts`, which exports an `Adapter` as `adapter`; a workload `Wx` for all of them is
//   `workloads/wx.ts`. A subject is a peer with one of its two settings.
//   A peer that is a job queue runs W16 only. Its `adapter` is a `QueueAdapter`, with one setting (queue.ts).

import { join } from "node:path";
import type { Order, Run, Store, Subject } from "../subject.ts";
import type { Adapter } from "./peer.ts";
import type { QueueAdapter } from "./queue.ts";
import type { PeerRun } from "./run.ts";

export interface Peer {
  readonly name: string;
  /** The package whose version is reported. */
  readonly package: string;
  readonly stores: readonly Store[];
  /** Shown in the subject's name if it does not use the store that it is listed with. */
  readonly note?: string;
  /** An environment variable that the peer requires; its adapter describes the value. */
  readonly variable?: string;
  /** A program that must be on the path. */
  readonly program?: string;
  /** Whether its adapter has `startBulk`, for W10n. */
  readonly bulk?: true;
  /** Whether its adapter has `ask`, for W12. */
  readonly asks?: true;
  /** Whether its adapter has `startStream` and `readStream`, for W14-across. */
  readonly streams?: true;
  /** Whether it is a job queue. */
  readonly queue?: true;
}

const POSTGRES: readonly Store[] = ["postgres"];

export const PEERS: readonly Peer[] = [
  { name: "openworkflow", package: "openworkflow", stores: ["sqlite", "postgres"] },
  { name: "dbos", package: "@dbos-inc/dbos-sdk", stores: POSTGRES, bulk: true, streams: true },
  { name: "absurd", package: "absurd-sdk", stores: POSTGRES, variable: "ABSURD_SQL" },
  {
    name: "restate",
    package: "@restatedev/restate-server",
    stores: POSTGRES,
    note: "own store",
    asks: true,
  },
  { name: "effect", package: "@effect/workflow", stores: POSTGRES },
  { name: "vercel", package: "workflow", stores: POSTGRES },
  {
    name: "bullmq",
    package: "bullmq",
    stores: POSTGRES,
    note: "Redis",
    program: "redis-server",
    queue: true,
  },
  { name: "bullmq-postgres", package: "bullmq", stores: POSTGRES, queue: true },
  { name: "pg-boss", package: "pg-boss", stores: POSTGRES, queue: true },
  { name: "graphile-worker", package: "graphile-worker", stores: POSTGRES, queue: true },
];

const WORKLOADS = ["W1", "W2", "W3", "W4", "W5", "W9", "W10n", "W12", "W14-across"];
/** Takes half a minute and more with the recommended settings of some peers, so only the tuned settings run. */
const TUNED_ONLY = ["W9"];

/** "dbos" and "dbos (tuned)"; one for a job queue. */
export function subjectsOf({ name, note, queue }: Peer): readonly Subject[] {
  const within = note === undefined ? [] : [note];
  const plain = [name, ...(note === undefined ? [] : [`(${note})`])].join(" ");
  return queue === true ? [plain] : [plain, `${name} (${[...within, "tuned"].join(", ")})`];
}

export function peerOf(subject: Subject): Peer | undefined {
  return PEERS.find((peer) => subjectsOf(peer).includes(subject));
}

export function peerHas(peer: Peer, subject: Subject, workload: string, store: Store): boolean {
  if (!peer.stores.includes(store)) return false;
  if (peer.queue === true) return workload === "W16";
  if (!WORKLOADS.includes(workload)) return false;
  if (workload === "W10n" && peer.bulk !== true) return false;
  if (workload === "W12" && peer.asks !== true) return false;
  if (workload === "W14-across" && peer.streams !== true) return false;
  return isTuned(subject) || !TUNED_ONLY.includes(workload);
}

export async function peerProgram(peer: Peer, { workload, subject }: Order): Promise<Run> {
  const file = join(import.meta.dirname, "workloads", `${workload.toLowerCase()}.ts`);
  const { run } = (await import(file)) as { run: PeerRun }; // see the header
  return (setting) => run({ peer: peer.name, tuned: isTuned(subject), setting });
}

export async function adapterOf(name: string): Promise<Adapter> {
  const { adapter } = (await import(fileOf(name))) as { adapter: Adapter }; // see the header
  return adapter;
}

export async function queueAdapterOf(name: string): Promise<QueueAdapter> {
  const { adapter } = (await import(fileOf(name))) as { adapter: QueueAdapter }; // see the header
  return adapter;
}

function fileOf(name: string): string {
  return join(import.meta.dirname, "adapters", `${name}.ts`);
}

function isTuned(subject: Subject): boolean {
  return subject.endsWith("tuned)");
}
