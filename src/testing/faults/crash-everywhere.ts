// A crash after every durable write: the orchestration as it was without, however often its process dies.
//   CE1. One run a write: right after it (or right before it) the process is gone, another one takes its place and
//        lets the instance finish.
//   CE2. Every run has the outcome of the run without a crash: result, status, key-values, of every instance.
//   CE3. Effects are as promised (P3, I7): an activity's outcome is recorded once; a crash costs a call one more
//        run at most, under the same idempotency key.

import { isDeepStrictEqual, inspect } from "node:util";
import type { StartOptions } from "../../client/client.ts";
import type { Handle } from "../../client/handle.ts";
import type { InputArguments } from "../../core/context-types.ts";
import type { Orchestration } from "../../core/definitions.ts";
import { isPerdureError, PerdureError } from "../../core/errors.ts";
import { OrchestrationError } from "../../core/outcome-errors.ts";
import type { TestEnvironmentOptions } from "../kit/test-environment-options.ts";
import { TestEnvironment } from "../kit/test-environment.ts";
import { auditStore, type Audit } from "./audit.ts";
import { textOfCall } from "./call-text.ts";
import { durableWrites, type Fault, type Moment } from "./fault-plan.ts";
import type { StoreCall } from "./store-methods.ts";

/** How `crashEverywhere` runs. */
export interface CrashOptions<O, Nodes = Record<never, never>> extends Omit<
  TestEnvironmentOptions,
  "faults"
> {
  /** Called once a run, before the start: mocks, and whatever else a run begins with. */
  readonly prepare?: (test: TestEnvironment) => void | Promise<void>;
  /** What happens to the instance, such as scripted events. Called once a run, after its start. */
  readonly scenario?: (test: TestEnvironment, handle: Handle<O, Nodes>) => void | Promise<void>;
  /** Called once a run, at its end; throws if something is not as it should be. */
  readonly check?: (test: TestEnvironment, handle: Handle<O, Nodes>) => void | Promise<void>;
  /** Whether the process dies after each write, before it, or one after the other. Default "after". */
  readonly when?: Moment | "both";
}
/** How much was tried. */
export interface CrashReport {
  /** The durable writes of a run without a crash, in words. */
  readonly writes: readonly string[];
  readonly runs: number;
}

/** The process dies before or after the write of this number, counted from 1. */
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

/** Runs an orchestration once a durable write with a crash there; throws at the first outcome that differs. */
export async function crashEverywhere<I, O, Nodes>(
  orchestration: Orchestration<I, O, Nodes>,
  input: NoInfer<I>,
  options: CrashOptions<NoInfer<O>, NoInfer<Nodes>>,
): Promise<CrashReport> {
  const { when = "after" } = options;
  // The input is the orchestration's own, whether or not it has to be given.
  const args = [input, { id: "crash-everywhere" }] as unknown as InputArguments<I, StartOptions>;
  const begin = (test: TestEnvironment) => test.start(orchestration, ...args);
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

/** There is no such write any more. */
class NeverStruck extends Error {}

async function runOnce<O, Nodes>(
  begin: (test: TestEnvironment) => Promise<Handle<O, Nodes>>,
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
  await using test = await TestEnvironment.create({ ...rest, faults: { call } });
  await prepare?.(test);
  const handle = await begin(test);
  try {
    await scenario?.(test, handle);
    const outcome = await outcomeOf(handle);
    await test.settle();
    if (crash !== null && writes.length < crash.number) throw new NeverStruck();
    await check?.(test, handle);
    const audit = await auditStore(test.store, test.client.codec);
    return { outcome, audit, runsByCall: test.activityRuns(), writes };
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

/** The error with the run in front of its message, and with its code. */
function errorAt(where: string, cause: unknown): Error {
  const message = `${where}: ${cause instanceof Error ? cause.message : String(cause)}`;
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
  differ("what is left of the instances", clean.audit.ends, run.audit.ends);
  const faults = [...run.audit.faults, ...effectFaults(clean, run)];
  if (faults.length > 0) throw new Error(`After ${where}: ${faults.join("; ")}.`);
}

/** CE3 */
function effectFaults(clean: Run, run: Run): string[] {
  const found: string[] = [];
  for (const key of run.audit.recorded) {
    if (!run.runsByCall.has(key)) found.push(`the outcome of ${key} is recorded, and it never ran`);
  }
  const most = Math.max(...clean.runsByCall.values(), 1) + 1;
  for (const [key, runs] of run.runsByCall) {
    if (runs > most)
      found.push(`activity call ${key} ran ${runs} times, at most ${most} are promised`);
  }
  return found;
}
