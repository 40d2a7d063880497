// Options of a test environment, and the log lines that it collects.

import type { ClientOptions } from "../../client/client.ts";
import type { Environment } from "../../core/time/environment.ts";
import { checkFlag, checkMembers, checkInteger, type Members } from "../../core/checks.ts";
import type { LogLevel } from "../../core/telemetry/log.ts";
import type { SomeServices } from "../../core/context/app-types.ts";
import type { Middleware } from "../../core/middleware/middleware.ts";
import type { CallbackSettings } from "../../core/define/callback.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { defined } from "../../core/values/defined.ts";
import type { LogOptions, RuntimeOptions } from "../../runtime/options.ts";
import type { Registrable } from "../../core/define/registrable.ts";
import type { FaultObserver } from "../faults/fault-injecting-provider.ts";
import type { FaultPlan } from "../faults/fault-plan.ts";

/** Options of `TestEnvironment.create`. */
export interface TestEnvironmentOptions {
  /** Orchestrations, flows, activities, and modules that export them, as for `Perdure.open`. */
  readonly register: readonly Registrable[];
  readonly runtime?: RuntimeOptions;
  /** Whether awaiting a result lets time pass. Default true. */
  readonly autoSkip?: boolean;
  /** The seed of every random number. Default 1. */
  readonly seed?: number;
  /** The virtual time at the start. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: Date;
  /**
   * How long virtual time waits, in real time, for an activity or a step that does real I/O. Default 2,000.
   */
  readonly patienceMs?: number;
  /** The settings of callbacks. Default: a secret for tests, and the address https://callbacks.test. */
  readonly callbacks?: CallbackSettings;
  /** The services of activities and steps, such as fakes: `ctx.services`. */
  readonly services?: SomeServices;
  /** As for `Perdure.open`. It is also around the calls of the environment's client. */
  readonly middleware?: readonly Middleware[];
  /** Opens the store. The environment closes it. Default: SQLite in memory. */
  readonly store?: (environment: Environment) => Promise<Provider>;
  /** Faults of the calls between the runtime and the store. Default: none. */
  readonly faults?: FaultPlan & { readonly observer?: FaultObserver };
}
const TEST_OPTIONS: Members<TestEnvironmentOptions> = {
  register: true,
  runtime: true,
  autoSkip: true,
  seed: true,
  startAt: true,
  patienceMs: true,
  callbacks: true,
  services: true,
  middleware: true,
  store: true,
  faults: true,
};
const FAULTS: Members<NonNullable<TestEnvironmentOptions["faults"]>> = {
  call: true,
  news: true,
  observer: true,
};

/** Not a secret: it is in the source. */
export const TEST_CALLBACKS: CallbackSettings = {
  secrets: ["a secret of tests, which is not secret"],
  baseUrl: "https://callbacks.test",
};

/** The options of a client that suits the runtime. */
export function clientOptions(options: TestEnvironmentOptions): ClientOptions {
  const { codec, limits, keepFor } = options.runtime ?? {};
  const { callbacks = TEST_CALLBACKS, middleware } = options;
  return { ...defined({ codec, limits, keepFor, middleware }), callbacks };
}

export function checkTestOptions(options: TestEnvironmentOptions): void {
  checkMembers(options, TEST_OPTIONS, "TestEnvironment.create");
  if (options.faults !== undefined) checkMembers(options.faults, FAULTS, "faults");
  checkFlag(options.autoSkip, "autoSkip");
  checkInteger(options.patienceMs, 0, "patienceMs");
}

/** A line of the runtime's log, or of `ctx.log`. */
export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The option `log` of a runtime whose lines are also kept here. */
export function keptLog(lines: LogLine[], given: RuntimeOptions["log"]): LogOptions {
  const options = typeof given === "function" ? { sink: given } : given;
  return {
    ...options,
    sink: (level, message, fields) => {
      lines.push({ level, message, fields });
      options?.sink?.(level, message, fields);
    },
  };
}
