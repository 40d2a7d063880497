// Crash everywhere: runs an orchestration once per durable write, with a crash at that write.
//   - In each run the process crashes right after the write (or right before it). Another process replaces it
//        and finishes the instance.
//   - Every run must end like the run without a crash: the same result, status and key-values of every
//        instance.
//   - crash-everywhere.1: Effects are as promised (P3, I7): the outcome of an activity is recorded once. A
//        crash adds at most one run of a call, with the same idempotency key.

import { isDeepStrictEqual, inspect } from "node:util";
import type { StartOptions } from "../../client/start-item.ts";
import type { Handle } from "../../client/handle.ts";
import type { InputArguments } from "../../core/context/types.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import { isPerdureError, PerdureError, errorMessage } from "../../core/errors/errors.ts";
import { OrchestrationError } from "../../core/errors/outcome-errors.ts";
import type { TestEnvironmentOptions } from "../kit/test-environment-options.ts";
import { TestEnvironment } from "../kit/test-environment.ts";
import { auditStore, type Audit } from "./audit.ts";
import { textOfCall } from "./call-text.ts";
import { durableWrites, type Fault, type Moment } from "./fault-plan.ts";
import type { StoreCall } from "./store-methods.ts";

/** Options of `crashEverywhere`. */
export interface CrashOptions<O, Nodes = Record<never, never>> extends Omit<
  TestEnvironmentOptions,
  "faults"
> {
  /** Called once per run, before the start; for mocks and other preparation. */
  readonly prepare?: (kit: TestEnvironment) => void | Promise<void>;
  /** Called once per run, after the start; for scripted events and other actions on the instance. */
  readonly scenario?: (kit: TestEnvironment, handle: Handle<O, Nodes>) => void | Promise<void>;
  /** Called once per run, at its end; throws if an assertion of the caller fails. */
  readonly check?: (kit: TestEnvironment, handle: Handle<O, Nodes>) => void | Promise<void>;
  /** Whether the process crashes after each write, before it, or both in separate runs. Default "after". */
  readonly when?: Moment | "both";
}
/** The extent of the test. */
export interface CrashReport {
  /** The durable writes of a run without a crash, in words. */
  readonly writes: readonly string[];
  readonly runs: number;
}

/** The process crashes before or after the write with this number, counted from 1. */
interface CrashPlace {
  readonly number: number;
  readonly moment: Moment;
}

interface Run {
  readonly outcome: unknown;
  readonly audit: Audit;
  readonly runsByCall: ReadonlyMap<string, number>;
  readonly writes: readonly string[];
}

/**
 * Runs an orchestration once per durable write, with a crash at it; throws at the first different outcome.
 */
export async function crashEverywhere<I, O, Nodes>(
  orchestration: Orchestration<I, O, Nodes>,
  input: NoInfer<I>,
  options: CrashOptions<NoInfer<O>, NoInfer<Nodes>>,
): Promise<CrashReport> {
  const { when = "after" } = options;
  // The signature has checked the input. `InputArguments` also covers orchestrations without input.
  const args = [input, { id: "crash-everywhere" }] as unknown as InputArguments<I, StartOptions>;
  const begin = (kit: TestEnvironment) => kit.start(orchestration, ...args);
  const clean = await runOnce(begin, options, null);
  let runs = 1;
  for (const moment of when === "both" ? (["after", "before"] as const) : [when]) {
    for (let number = 1; ; number++) {
      const where: CrashPlace = { number, moment };
      let run: Run;
      try {
        run = await runOnce(begin, options, where);
      } catch (cause) {
        if (cause instanceof NeverStruck) break;
        throw cause;
      }
      runs++;
      compare(clean, run, crashText(where, run.writes[number - 1] ?? "?"));
    }
  }
  return { writes: clean.writes, runs };
}

/** The run made fewer writes than the number of the crash: all writes are tested. */
class NeverStruck extends Error {}

async function runOnce<O, Nodes>(
  begin: (kit: TestEnvironment) => Promise<Handle<O, Nodes>>,
  options: CrashOptions<O, Nodes>,
  crash: CrashPlace | null,
): Promise<Run> {
  const writes: string[] = [];
  const { prepare, scenario, check, when: _when, ...rest } = options;
  const call = (given: StoreCall): Fault | undefined => {
    if (!durableWrites(given) || writes.length === crash?.number) return undefined;
    writes.push(textOfCall(given));
    if (crash === null || writes.length !== crash.number) return undefined;
    return { kind: "crash", when: crash.moment };
  };
  await using kit = await TestEnvironment.create({ ...rest, faults: { call } });
  await prepare?.(kit);
  const handle = await begin(kit);
  try {
    await scenario?.(kit, handle);
    const outcome = await outcomeOf(handle);
    await kit.settle();
    if (crash !== null && writes.length < crash.number) throw new NeverStruck();
    await check?.(kit, handle);
    const audit = await auditStore(kit.store, kit.client.codec);
    return { outcome, audit, runsByCall: kit.activityRuns(), writes };
  } catch (cause) {
    if (cause instanceof NeverStruck) throw cause;
    const reached = crash === null ? undefined : writes[crash.number - 1];
    const where =
      crash === null || reached === undefined
        ? "In the run without a crash"
        : `After ${crashText(crash, reached)}`;
    throw errorAt(where, cause);
  }
}

function crashText({ moment, number }: CrashPlace, write: string): string {
  return `a crash ${moment} write ${number}, ${write}`;
}

/** Returns the error with a description of the run before its message; the code stays the same. */
function errorAt(where: string, cause: unknown): Error {
  const message = `${where}: ${errorMessage(cause)}`;
  if (isPerdureError(cause)) return new PerdureError(cause.code, message, { cause });
  return new Error(message, { cause });
}

async function outcomeOf(handle: Pick<Handle, "result">): Promise<unknown> {
  try {
    return { value: await handle.result() };
  } catch (error) {
    if (!(error instanceof OrchestrationError)) throw error;
    const { kind, message } = error;
    return { kind, message };
  }
}

function compare(clean: Run, run: Run, where: string): void {
  const differ = (what: string, expected: unknown, found: unknown): void => {
    if (isDeepStrictEqual(expected, found)) return;
    throw new Error(
      `After ${where}: ${what} differs: without a crash ${inspect(expected, { depth: 8 })}, with it ` +
        `${inspect(found, { depth: 8 })}.`,
    );
  };
  differ("the outcome", clean.outcome, run.outcome);
  differ("the final state of the instances", clean.audit.ends, run.audit.ends);
  const faults = [...run.audit.faults, ...effectFaults(clean, run)];
  if (faults.length > 0) throw new Error(`After ${where}: ${faults.join("; ")}.`);
}

/** crash-everywhere.1 */
function effectFaults(clean: Run, run: Run): string[] {
  const found: string[] = [];
  for (const key of run.audit.recorded) {
    if (!run.runsByCall.has(key))
      found.push(`the outcome of activity call ${key} is recorded, but the call never ran`);
  }
  const most = Math.max(...clean.runsByCall.values(), 1) + 1;
  for (const [key, runs] of run.runsByCall) {
    if (runs > most)
      found.push(`activity call ${key} ran ${runs} times; at most ${most} runs are allowed`);
  }
  return found;
}
