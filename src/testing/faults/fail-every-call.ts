// The failpoint loop: a scenario once for every call of the store and every way in which that call can go wrong.
//   FC1. A scenario runs once without faults; then with its 1st call going wrong, its 2nd, its 3rd …, until it has no
//        more calls, each time on a new store.
//   FC2. Every run ends as the one without faults did: the same value, the same end of every instance, histories that
//        are sound (P3, P6, I4, I7).
//   FC3. What differs is told with the call and the fault that made the difference.

import { isDeepStrictEqual, inspect } from "node:util";
import { checkChoice, checkMembers, checkWhole, type Members } from "../../core/known-members.ts";
import type { TestEnvironmentOptions } from "../kit/test-environment-options.ts";
import { TestEnvironment } from "../kit/test-environment.ts";
import { auditStore, type Audit } from "./audit.ts";
import { textOfCall } from "./call-text.ts";
import type { Fault } from "./fault-plan.ts";
import type { StoreCall } from "./store-methods.ts";

/** What may go wrong with one call: the names that `failEveryCall` goes through. */
export const CALL_FAULTS = {
  /** The process dies before the store hears of it. */
  kill: { kind: "crash", when: "before" },
  /** The store carries it out, and the process dies before it knows. */
  killAfter: { kind: "crash", when: "after" },
  /** It fails, and was not carried out. */
  throw: { kind: "fail", when: "before" },
  /** It was carried out, and fails all the same: nobody knows. */
  commitThenDrop: { kind: "fail", when: "after" },
  /** Nothing is heard of it for half a minute; then it is given up. */
  hang: { kind: "fail", when: "before", afterMs: 30_000 },
} as const satisfies Record<string, Fault>;
/** The name of one of them. */
export type CallFault = keyof typeof CALL_FAULTS;

/** What is run again and again. Nothing in it may depend on how often it was run. */
export interface FailureScenario {
  readonly name: string;
  /** Made anew for every run, so that what activities count begins at nothing. */
  readonly options: () => TestEnvironmentOptions;
  /** What it returns must be the same whatever goes wrong. */
  readonly run: (test: TestEnvironment) => Promise<unknown>;
}
/** Which of all runs are made. */
export interface FailEveryCallOptions {
  /** Default: all. */
  readonly faults?: readonly CallFault[];
  /** Every how many-th call goes wrong. Default 1: each. */
  readonly stride?: number;
  /** The first call that goes wrong. Default 1. */
  readonly first?: number;
}
/** How much was tried. */
export interface FailEveryCallReport {
  /** Calls that the scenario makes of its store without faults. */
  readonly calls: number;
  readonly runs: number;
}

const FAIL_OPTIONS: Members<FailEveryCallOptions> = { faults: true, stride: true, first: true };
/** What others of the scenario's instances still do has been done by then: polls and back-offs included. */
const REST = "3h";

interface Run {
  readonly value: unknown;
  readonly audit: Audit;
  readonly calls: number;
  readonly struck: StoreCall | null;
}

/** Runs a scenario with its first call of the store going wrong, its second, … in every way; throws at a difference. */
export async function failEveryCall(
  scenario: FailureScenario,
  options: FailEveryCallOptions = {},
): Promise<FailEveryCallReport> {
  checkMembers(options, FAIL_OPTIONS, "failEveryCall");
  checkWhole(options.stride, 1, "stride");
  checkWhole(options.first, 1, "first");
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
        throw new Error(`${scenario.name}: ${name} at call ${number}: ${messageOf(cause)}`, {
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
  const test = await TestEnvironment.create({ ...options, faults: { call } });
  try {
    const value = await scenario.run(test);
    isOver = true;
    await test.advance(REST);
    return { value, audit: await auditStore(test.store, test.client.codec), calls, struck };
  } catch (error) {
    if (struck === null || !(error instanceof Error)) throw error;
    throw new Error(`${textOfCall(struck)}: ${error.message}`, { cause: error });
  } finally {
    isOver = true;
    await test.close();
  }
}

function compare(clean: Run, run: Run, where: string): void {
  const differ = (what: string, expected: unknown, found: unknown): void => {
    if (isDeepStrictEqual(expected, found)) return;
    const sides = `without it ${inspect(expected, { depth: 8 })}, with it ${inspect(found, { depth: 8 })}`;
    throw new Error(`${where}: ${what} is another: ${sides}.`);
  };
  differ("the value", clean.value, run.value);
  differ("how instances ended", clean.audit.ends, run.audit.ends);
  if (run.audit.faults.length > 0) throw new Error(`${where}: ${run.audit.faults.join("; ")}.`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
