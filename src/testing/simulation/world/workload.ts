// Workload: the code of the simulated processes, the calls of the clients, and the expected results.
//   - The plan of a workload is data, drawn from a seed. A smaller plan gives a smaller run.
//   - A script belongs to a slot. When its process crashes, the successor runs the script again. The script
//        continues after the acknowledged calls, with the same request ids.

import type { Client } from "../../../client/client.ts";
import type { BlockCode } from "../../../core/history/block.ts";
import type { HistoryEvent } from "../../../core/history/events.ts";
import type { InstanceRecord } from "../../../core/provider/instances.ts";
import type { Definition } from "../../../core/define/registrable.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Ledger } from "../ledger.ts";
import type { Machine, SimulatedProcess } from "./machine.ts";
import type { PlanFrame, Scenario } from "../scenario.ts";
import type { InvariantNumber } from "../violation.ts";

/** The code of the processes, the calls of the clients, and the expected results. */
export interface Workload<Plan = unknown> {
  readonly name: string;
  plan(random: SeededRandom, frame: PlanFrame): Plan;
  /** Smaller plans, for the minimizer; the largest reductions come first. */
  smaller?(plan: Plan): Iterable<Plan>;
  /** Prepares one run. */
  begin(scenario: Scenario<Plan>): Play;
}

/** The argument of a script. */
export interface Hand {
  readonly client: Client;
  readonly process: SimulatedProcess;
  readonly ledger: Ledger;
  /** Milliseconds since the start of the run. */
  readonly elapsedMs: () => number;
}
/** The calls of one client. */
export interface Script {
  readonly name: string;
  /** The slot of the process that runs the script. "driver" is a process that never crashes. */
  readonly slot: number | "driver";
  /** Called again, in the next process, after a crash. A rejection is a violation. */
  run(hand: Hand): Promise<void>;
}

/** The final state of an instance. */
export interface EndedInstance {
  readonly record: InstanceRecord;
  /** The events of each execution. */
  readonly executions: ReadonlyMap<number, readonly HistoryEvent[]>;
}
/** The final state of the store. */
export interface EndOfRun {
  readonly instances: ReadonlyMap<string, EndedInstance>;
  readonly ledger: Ledger;
  /** A client directly on the store, without faults. */
  readonly client: Client;
  /** Reports a violation, by default of C18. */
  report(what: string, invariant?: InvariantNumber): void;
}

/** One run of a workload. */
export interface Play {
  readonly scripts: readonly Script[];
  register(process: SimulatedProcess): readonly Definition[];
  /** The longest time that the workload takes without faults. */
  readonly longestMs: number;
  /** Whether an instance may still be waiting at the end of the run. Default: none may. */
  mayWait?(record: InstanceRecord): boolean;
  /** Whether this block is valid while the code of two deployments runs concurrently. Default: none is. */
  mayBlock?(record: InstanceRecord, code: BlockCode): boolean;
  /**
   * The operator's action for a quarantined instance whose code ends its process. Null, the default: the
   * code of this instance does not end its process, so the quarantine must have another reason.
   */
  quarantine?(record: InstanceRecord): "unblock" | "leave" | null;
  /** Whether the processes have the settings of callbacks. Default true. */
  readonly hasCallbacks?: boolean;
  /** The number of instances and activities that end their process. Default: none. */
  readonly killers?: number;
  /** Reports results that differ from the expected ones. */
  check(end: EndOfRun): void | Promise<void>;
}

export function handOf(machine: Machine, ledger: Ledger, elapsedMs: () => number): Hand {
  return { client: machine.client, process: machine, ledger, elapsedMs };
}
