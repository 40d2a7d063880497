// A workload of one's own: orchestrations and activities as they are, a driver, and a check.
//   OW1. The driver runs on a process that never dies; its calls meet every other fault. It is called once a run.
//   OW2. When it has returned the faults stop, everything that was started must end, and the check is called.

import type { Client } from "../../client/client.ts";
import type { InstanceRecord } from "../../core/provider/instances.ts";
import { definitionsOf, type Registrable } from "../../core/registrable.ts";
import { Chance } from "./chance.ts";
import type { Ledger } from "./ledger.ts";
import type { SimulatedProcess } from "./machine.ts";
import type { Workload } from "./workload.ts";

/** What a driver has to work with. */
export interface Driving {
  readonly client: Client;
  /** Random numbers that follow from the seed. */
  readonly chance: Chance;
  /** The measure of everything that takes time in this run; faults go on for 24 of them. */
  readonly unitMs: number;
  /** Waits in simulated time. */
  sleep(ms: number): Promise<void>;
}
/** What a check looks at. */
export interface Checking {
  /** On a store that is at rest. */
  readonly client: Client;
  /** What activities did, run by run, those of processes that died included. */
  readonly runs: Ledger["runs"];
}

/** Orchestrations, a driver and a check of your own. */
export interface OwnWorkload {
  readonly name?: string;
  /** What a process registers; called for every process that starts. Activities wait with `process.sleep`. */
  readonly register: (process: SimulatedProcess) => readonly Registrable[];
  readonly drive: (driving: Driving) => Promise<void>;
  /** Throws if the outcome is wrong. */
  readonly check?: (checking: Checking) => void | Promise<void>;
  /** Whether an instance may still be waiting in the end. Default: none. */
  readonly mayWait?: (instance: InstanceRecord) => boolean;
  /** How long anything of it takes at most by itself. Default one hour. */
  readonly longestMs?: number;
}

const LONGEST_DEFAULT_MS = 3_600_000;

/** A workload from orchestrations of your own. */
export function workloadOf(own: OwnWorkload): Workload<null> {
  return {
    name: own.name ?? "own",
    plan: () => null,
    begin({ seed, unitMs }) {
      return {
        register: (process) => definitionsOf(own.register(process)),
        longestMs: own.longestMs ?? LONGEST_DEFAULT_MS,
        scripts: [
          {
            name: "the driver",
            slot: "driver",
            run: ({ client, process }) =>
              own.drive({
                client,
                chance: new Chance(seed, "driver"),
                unitMs,
                sleep: (ms) => process.sleep(ms),
              }),
          },
        ],
        ...(own.mayWait === undefined ? {} : { mayWait: own.mayWait }),
        async judge({ client, ledger, report }) {
          try {
            await own.check?.({ client, runs: ledger.runs });
          } catch (error) {
            report(error instanceof Error ? error.message : String(error));
          }
        },
      };
    },
  };
}
