// The engines that are measured alongside Perdure, with their stores and workloads.
//   A peer `x` is `adapters/x.ts`, which exports an `Adapter` as `adapter`; a workload `Wx` for all of them is
//   `workloads/wx.ts`. A subject is a peer with one of its two settings.

import { join } from "node:path";
import type { Order, Run, Store, Subject } from "../subject.ts";
import type { Adapter } from "./peer.ts";
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
  /** Whether its adapter has `startBulk`, for W10n. */
  readonly bulk?: true;
  /** Whether its adapter has `ask`, for W12. */
  readonly asks?: true;
  /** Whether its adapter has `startStream` and `readStream`, for W14-across. */
  readonly streams?: true;
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
];

const WORKLOADS = ["W1", "W2", "W3", "W4", "W5", "W9", "W10n", "W12", "W14-across"];
/** Takes half a minute and more with the recommended settings of some peers, so only the tuned settings run. */
const TUNED_ONLY = ["W9"];

/** "dbos" and "dbos (tuned)". */
export function subjectsOf({ name, note }: Peer): readonly Subject[] {
  const within = note === undefined ? [] : [note];
  return [
    [name, ...(note === undefined ? [] : [`(${note})`])].join(" "),
    `${name} (${[...within, "tuned"].join(", ")})`,
  ];
}

export function peerOf(subject: Subject): Peer | undefined {
  return PEERS.find((peer) => subjectsOf(peer).includes(subject));
}

export function peerHas(peer: Peer, subject: Subject, workload: string, store: Store): boolean {
  if (!WORKLOADS.includes(workload) || !peer.stores.includes(store)) return false;
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
  const file = join(import.meta.dirname, "adapters", `${name}.ts`);
  const { adapter } = (await import(file)) as { adapter: Adapter }; // see the header
  return adapter;
}

function isTuned(subject: Subject): boolean {
  return subject.endsWith("tuned)");
}
