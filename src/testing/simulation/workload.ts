// A workload: what the processes of a simulation run, what the clients ask for, and what must come out of it.
//   WL1. Its plan is data, drawn from a seed: a plan that is made smaller is a run that is made smaller.
//   WL2. A script belongs to a slot. When its process dies, the successor runs it again; it goes on after what was
//        acknowledged, with the same request ids.

import type { Client } from "../../client/client.ts";
import type { BlockCode } from "../../core/block.ts";
import type { HistoryEvent } from "../../core/history-events.ts";
import type { InstanceRecord } from "../../core/provider/instances.ts";
import type { Definition } from "../../core/registrable.ts";
import type { Chance } from "./chance.ts";
import type { Ledger } from "./ledger.ts";
import type { Machine, SimulatedProcess } from "./machine.ts";
import type { PlanFrame, Scenario } from "./scenario.ts";

/** What the processes run, what clients ask for, and what must come out of it. */
export interface Workload<Plan = unknown> {
  readonly name: string;
  plan(chance: Chance, frame: PlanFrame): Plan;
  /** Plans that do a little less, for minimizing; the most drastic first. */
  smaller?(plan: Plan): Iterable<Plan>;
  /** One run of it. */
  begin(scenario: Scenario<Plan>): Play;
}

/** What a script has to work with. */
export interface Hand {
  readonly client: Client;
  readonly process: SimulatedProcess;
  readonly ledger: Ledger;
  /** Milliseconds since the beginning of the run. */
  readonly elapsedMs: () => number;
}
/** What one client does. */
export interface Script {
  readonly name: string;
  /** Which process runs it; "driver": one that never dies. */
  readonly slot: number | "driver";
  /** Called again from the beginning when its process died. Whatever it rejects with is a violation. */
  run(hand: Hand): Promise<void>;
}

/** An instance as it is in the end. */
export interface EndedInstance {
  readonly record: InstanceRecord;
  /** By execution. */
  readonly executions: ReadonlyMap<number, readonly HistoryEvent[]>;
}
/** What is left when everything is over. */
export interface EndOfRun {
  readonly instances: ReadonlyMap<string, EndedInstance>;
  readonly ledger: Ledger;
  /** A client on the store itself: nothing goes wrong for it any more. */
  readonly client: Client;
  report(what: string): void;
}

/** One run of a workload. */
export interface Play {
  readonly scripts: readonly Script[];
  register(process: SimulatedProcess): readonly Definition[];
  /** How long anything of it takes at most by itself, faults aside. */
  readonly longestMs: number;
  /** Whether an instance may be waiting when everything is over. Default: none. */
  mayWait?(record: InstanceRecord): boolean;
  /** Whether that block is in order, while code of two deployments runs side by side. Default: none is. */
  mayBlock?(record: InstanceRecord, code: BlockCode): boolean;
  /**
   * What an operator does about the quarantine of an instance whose code ends its process. Null, the default: no code of
   * this instance does, so the quarantine needs another reason.
   */
  quarantine?(record: InstanceRecord): "unblock" | "leave" | null;
  /** How many instances and activities of the workload end their process. Default: none. */
  readonly killers?: number;
  /** Whether the results are those that were worked out. */
  judge(end: EndOfRun): void | Promise<void>;
}

export function handOf(machine: Machine, ledger: Ledger, elapsedMs: () => number): Hand {
  return { client: machine.client, process: machine, ledger, elapsedMs };
}
