// Failpoint loop: runs a scenario once per store call and per kind of fault of that call.
//   - The scenario runs once without faults. Then it runs with a fault at its 1st call, its 2nd call, and
//        so on, until it makes no more calls. Each run has a new store.
//   - Every run must end like the run without faults: the same value, the same end of every instance, correct
//        histories (P3, P6, I4, I7).
//   - The error for a difference names the call and the fault that caused it.

import { isDeepStrictEqual, inspect } from "node:util";
import { checkChoice, checkMembers, checkInteger, type Members } from "../../core/checks.ts";
import type { TestEnvironmentOptions } from "../kit/test-environment-options.ts";
import { TestEnvironment } from "../kit/test-environment.ts";
import { auditStore, type Audit } from "./audit.ts";
import { textOfCall } from "./call-text.ts";
import type { Fault } from "./fault-plan.ts";
import type { StoreCall } from "./store-methods.ts";
import { errorMessage } from "../../core/errors/errors.ts";

/** The faults of one call that `failEveryCall` tries, by name. */
export const CALL_FAULTS = {
  /** The process crashes before the store receives the call. */
  kill: { kind: "crash", when: "before" },
  /** The store executes the call, and the process crashes before it receives the reply. */
  killAfter: { kind: "crash", when: "after" },
  /** The call fails, and the store has not executed it. */
  throw: { kind: "fail", when: "before" },
  /** The store has executed the call, but the reply is lost: the caller receives an error. */
  commitThenDrop: { kind: "fail", when: "after" },
  /** The call fails after 30 seconds without a reply, and the store has not executed it. */
  hang: { kind: "fail", when: "before", afterMs: 30_000 },
} as const satisfies Record<string, Fault>;
/** The name of a fault in `CALL_FAULTS`. */
export type CallFault = keyof typeof CALL_FAULTS;

/** A scenario that runs many times. It must not depend on how often it ran before. */
export interface FailureScenario {
  readonly name: string;
  /** Called for every run, so that counters in activities start at zero again. */
  readonly options: () => TestEnvironmentOptions;
  /** Must return the same value with every fault. */
  readonly run: (kit: TestEnvironment) => Promise<unknown>;
}
/** Which calls and faults are tried. */
export interface FailEveryCallOptions {
  /** Default: all. */
  readonly faults?: readonly CallFault[];
  /** The distance between the calls that get a fault. Default 1: every call. */
  readonly stride?: number;
  /** The number of the first call that gets a fault. Default 1. */
  readonly first?: number;
}
/** The extent of the test. */
export interface FailEveryCallReport {
  /** The number of store calls in the run without faults. */
  readonly calls: number;
  readonly runs: number;
}

const FAIL_OPTIONS: Members<FailEveryCallOptions> = { faults: true, stride: true, first: true };
/** Virtual time after which all other instances of the scenario have ended, including polls and backoffs. */
const REST = "3h";

interface Run {
  readonly value: unknown;
  readonly audit: Audit;
  readonly calls: number;
  readonly struck: StoreCall | null;
}

/** Runs a scenario once per store call and per fault; throws at the first run that ends differently. */
export async function failEveryCall(
  scenario: FailureScenario,
  options: FailEveryCallOptions = {},
): Promise<FailEveryCallReport> {
  checkMembers(options, FAIL_OPTIONS, "failEveryCall");
  checkInteger(options.stride, 1, "stride");
  checkInteger(options.first, 1, "first");
  const { faults = Object.keys(CALL_FAULTS) as CallFault[], stride = 1, first = 1 } = options;
  for (const fault of faults)
    checkChoice(fault, Object.keys(CALL_FAULTS) as CallFault[], "a fault");
  const clean = await runWith(scenario, 0, null);
  let runs = 1;
  for (const name of faults) {
    for (let number = first; ; number += stride) {
      let run: Run;
      try {
        run = await runWith(scenario, number, CALL_FAULTS[name]);
      } catch (cause) {
        throw new Error(`${scenario.name}: ${name} at call ${number}: ${errorMessage(cause)}`, {
          cause,
        });
      }
      runs++;
      if (run.struck === null) break;
      compare(clean, run, `${scenario.name}: ${name} at call ${number}, ${textOfCall(run.struck)}`);
    }
  }
  return { calls: clean.calls, runs };
}

async function runWith(
  scenario: FailureScenario,
  number: number,
  fault: Fault | null,
): Promise<Run> {
  let calls = 0;
  let struck: StoreCall | null = null;
  let isOver = false;
  const options = scenario.options();
  const call = (given: StoreCall): Fault | undefined => {
    if (isOver || ++calls !== number || fault === null) return undefined;
    struck = given;
    return fault;
  };
  const kit = await TestEnvironment.create({ ...options, faults: { call } });
  try {
    const value = await scenario.run(kit);
    isOver = true;
    await kit.advance(REST);
    return { value, audit: await auditStore(kit.store, kit.client.codec), calls, struck };
  } catch (error) {
    if (struck === null || !(error instanceof Error)) throw error;
    throw new Error(`${textOfCall(struck)}: ${error.message}`, { cause: error });
  } finally {
    isOver = true;
    await kit.close();
  }
}

function compare(clean: Run, run: Run, where: string): void {
  const differ = (what: string, expected: unknown, found: unknown): void => {
    if (isDeepStrictEqual(expected, found)) return;
    const sides = `without the fault ${inspect(expected, { depth: 8 })}, with it ${inspect(found, { depth: 8 })}`;
    throw new Error(`${where}: ${what} differs: ${sides}.`);
  };
  differ("the value", clean.value, run.value);
  differ("the final state of the instances", clean.audit.ends, run.audit.ends);
  if (run.audit.faults.length > 0) throw new Error(`${where}: ${run.audit.faults.join("; ")}.`);
}
