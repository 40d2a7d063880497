// Custom workload: built from the user's orchestrations and activities, a driver and a check.
//   - The driver runs in a process that never crashes; all other faults apply to its calls. It runs once
//        per run.
//   - After the driver has returned the faults stop, all started instances must end, and the check is called.

import type { Client } from "../../../client/client.ts";
import type { InstanceRecord } from "../../../core/provider/instances.ts";
import { definitionsOf, type Registrable } from "../../../core/define/registrable.ts";
import { SeededRandom } from "./seeded-random.ts";
import type { Ledger } from "../ledger.ts";
import type { SimulatedProcess } from "./machine.ts";
import type { Workload } from "./workload.ts";
import { errorMessage } from "../../../core/errors/errors.ts";

/** The argument of a driver. */
export interface Driving {
  readonly client: Client;
  /** Random numbers from the seed. */
  readonly random: SeededRandom;
  /** The time unit of the run: one heartbeat period. Faults last for 24 units. */
  readonly unitMs: number;
  /** Waits in simulated time. */
  sleep(ms: number): Promise<void>;
}
/** The argument of a check. */
export interface Checking {
  /** A client on the store, after all work has ended. */
  readonly client: Client;
  /** All runs of activities, including those in processes that crashed. */
  readonly runs: Ledger["runs"];
}

/** A custom workload: orchestrations, a driver and a check. */
export interface OwnWorkload {
  readonly name?: string;
  /**
   * Returns what a process registers; called for every process that starts. Activities wait with
   * `process.sleep`.
   */
  readonly register: (process: SimulatedProcess) => readonly Registrable[];
  readonly drive: (driving: Driving) => Promise<void>;
  /** Throws if the outcome is wrong. */
  readonly check?: (checking: Checking) => void | Promise<void>;
  /** Whether an instance may still be waiting at the end of the run. Default: none may. */
  readonly mayWait?: (instance: InstanceRecord) => boolean;
  /** The longest time that an instance takes without faults. Default one hour. */
  readonly longestMs?: number;
}

const LONGEST_DEFAULT_MS = 3_600_000;

/** Builds a workload from the user's orchestrations. */
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
                random: new SeededRandom(seed, "driver"),
                unitMs,
                sleep: (ms) => process.sleep(ms),
              }),
          },
        ],
        ...(own.mayWait === undefined ? {} : { mayWait: own.mayWait }),
        async check({ client, ledger, report }) {
          try {
            await own.check?.({ client, runs: ledger.runs });
          } catch (error) {
            report(errorMessage(error));
          }
        },
      };
    },
  };
}
