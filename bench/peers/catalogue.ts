// Who is measured beside Perdure, on what, with which workloads.
//   A peer `x` is `adapters/x.ts`, which exports an `Adapter` as `adapter`; a workload `Wx` for all of them is
//   `workloads/wx.ts`. A subject is a peer with one of its two settings.

import { join } from "node:path";
import type { Order, Run, Store, Subject } from "../subject.ts";
import type { Adapter } from "./peer.ts";
import type { PeerRun } from "./run.ts";

export interface Peer {
  readonly name: string;
  /** The package whose version is told. */
  readonly package: string;
  readonly stores: readonly Store[];
  /** Said in the subject's name where the store is not the one in whose turn it runs. */
  readonly note?: string;
  /** A variable without which it cannot run; its adapter says what it names. */
  readonly variable?: string;
}

const POSTGRES: readonly Store[] = ["postgres"];

export const PEERS: readonly Peer[] = [
  { name: "openworkflow", package: "openworkflow", stores: ["sqlite", "postgres"] },
  { name: "dbos", package: "@dbos-inc/dbos-sdk", stores: POSTGRES },
  { name: "absurd", package: "absurd-sdk", stores: POSTGRES, variable: "ABSURD_SQL" },
  { name: "restate", package: "@restatedev/restate-server", stores: POSTGRES, note: "own store" },
  { name: "effect", package: "@effect/workflow", stores: POSTGRES },
  { name: "vercel", package: "workflow", stores: POSTGRES },
];

const WORKLOADS = ["W1", "W2", "W3", "W4", "W5", "W9"];
/** Half a minute and more with the recommended settings of some: the tuned ones tell what there is to tell. */
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
  return isTuned(subject) || !TUNED_ONLY.includes(workload);
}

export async function peerProgram(peer: Peer, { workload, subject }: Order): Promise<Run> {
  const file = join(import.meta.dirname, "workloads", `${workload.toLowerCase()}.ts`);
  const { run } = (await import(file)) as { run: PeerRun }; // by the rule above
  return (setting) => run({ peer: peer.name, tuned: isTuned(subject), setting });
}

export async function adapterOf(name: string): Promise<Adapter> {
  const file = join(import.meta.dirname, "adapters", `${name}.ts`);
  const { adapter } = (await import(file)) as { adapter: Adapter }; // by the rule above
  return adapter;
}

function isTuned(subject: Subject): boolean {
  return subject.endsWith("tuned)");
}
