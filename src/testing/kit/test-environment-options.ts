// What a test environment may be told, and what it tells.

import type { Environment } from "../../core/environment.ts";
import { checkFlag, checkMembers, checkWhole, type Members } from "../../core/known-members.ts";
import type { LogLevel } from "../../core/log.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { RuntimeOptions } from "../../runtime/options.ts";
import type { Registrable } from "../../core/registrable.ts";
import type { FaultObserver } from "../faults/fault-injecting-provider.ts";
import type { FaultPlan } from "../faults/fault-plan.ts";

/** What a test environment may be told. */
export interface TestEnvironmentOptions {
  /** Orchestrations, flows and activities, and modules that export some, as for `Perdure.open`. */
  readonly register: readonly Registrable[];
  readonly runtime?: RuntimeOptions;
  /** Whether awaiting a result lets time pass. Default true. */
  readonly autoSkip?: boolean;
  /** What every random number follows from. Default 1. */
  readonly seed?: number;
  /** The time at the beginning. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: Date;
  /** How long virtual time waits, in real time, for an activity or a step that does real I/O. Default 2,000. */
  readonly patienceMs?: number;
  /** The store to run on; it is closed with the environment. Default: SQLite in memory. */
  readonly store?: (environment: Environment) => Promise<Provider>;
  /** What goes wrong between the runtime and the store. Default: nothing. */
  readonly faults?: FaultPlan & { readonly observer?: FaultObserver };
}
const TEST_OPTIONS: Members<TestEnvironmentOptions> = {
  register: true,
  runtime: true,
  autoSkip: true,
  seed: true,
  startAt: true,
  patienceMs: true,
  store: true,
  faults: true,
};
const FAULTS: Members<NonNullable<TestEnvironmentOptions["faults"]>> = {
  call: true,
  news: true,
  observer: true,
};

export function checkTestOptions(options: TestEnvironmentOptions): void {
  checkMembers(options, TEST_OPTIONS, "TestEnvironment.create");
  if (options.faults !== undefined) checkMembers(options.faults, FAULTS, "faults");
  checkFlag(options.autoSkip, "autoSkip");
  checkWhole(options.patienceMs, 0, "patienceMs");
}

/** A line of the runtime's log, or of `ctx.log`. */
export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}
