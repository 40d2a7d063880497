// Runtime options: their defaults and their checks.
//   - options.1: Every option has an effect. An option that is unknown, out of range or contradicts
//     another is INVALID_ARGUMENT when the runtime is created.

import { checkFlag, checkMembers, type Members } from "../core/checks.ts";
import { defaultCodec, type Codec } from "../core/values/codec.ts";
import { checkExecutor, type Executor } from "../core/define/executor.ts";
import { GUARD_NAMES, type GuardOptions } from "../core/define/guard-names.ts";
import { checkStorable, showValue } from "../core/ids/ids.ts";
import type { Duration } from "../core/time/duration.ts";
import { parseKeepFor } from "../core/time/keep-for.ts";
import { defined } from "../core/values/defined.ts";
import { resolveLimits, type Limits } from "../core/values/limits.ts";
import { consoleLog } from "../core/telemetry/console-log.ts";
import type { LogSink } from "../core/telemetry/log.ts";
import { AGEING_MS, AGEING_MS_MAX } from "../core/provider/shared/ageing.ts";
import type { TagFilter } from "../core/provider/tasks.ts";
import { checkTagFilter } from "../core/ids/tags.ts";
import { safeTelemetry } from "../core/telemetry/safe-telemetry.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";
import {
  checkPoison,
  checkVersions,
  invalid,
  resolveRetention,
  resolveUnregistered,
  type ResolvedRetention,
  type Retention,
  type Unregistered,
} from "./policies.ts";
import type { ShadowReplay } from "./replay/shadowing.ts";

/** Options of a runtime. Every option has a default that suits everyday use. */
export interface RuntimeOptions {
  /** How many instances may have a turn in flight. Default 1,000. */
  readonly turnConcurrency?: number;
  /** How many activities may run at once. Default 500. */
  readonly activityConcurrency?: number;
  /** How many inline steps may run at once. Default 100. */
  readonly stepConcurrency?: number;
  /** How many instances or tasks are leased per request. Default 256. */
  readonly leaseBatch?: number;
  /** If set, the lease of an instance expires after this time unless the main loop renews it. */
  readonly instanceLeaseMs?: number;
  /** If set, the lease of a task expires after this time unless the main loop renews it. */
  readonly taskLeaseMs?: number;
  /** How long before its expiry a lease is renewed. Default: two thirds of the lease. */
  readonly renewBufferMs?: number;
  /** The interval of polls. Notifications wake the runtime earlier. Default 1,000. */
  readonly pollIntervalMs?: number;
  /**
   * How many live instances are kept in memory. With 0, every turn replays its history. Default 10,000.
   */
  readonly stickyCacheMax?: number;
  /** How much history the live instances may have in total. Default 256 MiB. */
  readonly stickyCacheBytesMax?: number;
  /** A live instance that is idle for this long leaves memory. Default 10,000. */
  readonly stickyIdleMs?: number;
  /**
   * After how many deaths of its process an activity is poison. Default 10. With less than 3, an activity that ran next
   * to the actual cause can be poison too: up to two of its deaths count (decision 0057).
   */
  readonly attemptsMax?: number;
  /** How long a cancelled activity keeps its slot while it cleans up. Default 10,000. */
  readonly cancelGraceMs?: number;
  /** How long an instance may clean up after a cancellation before it is terminated. Default one hour. */
  readonly cancelTimeoutMs?: number;
  /** The interval of this runtime's heartbeats. Default 1,000. */
  readonly beatMs?: number;
  /**
   * After this long without a heartbeat, other runtimes take over. Default 5,000 with a liveness thread,
   * else 30,000.
   */
  readonly staleMs?: number;
  /** If the event loop is blocked for this long, the heartbeats stop. Default 30,000. */
  readonly stallMs?: number;
  /**
   * A stable name for this worker, shown to people. Runtimes with the same name own sessions together.
   * Default: hostname and process id, and each runtime owns its sessions alone.
   */
  readonly workerNodeId?: string;
  /** Which tasks it takes: a task's tags must be a subset of these. Default "untagged". */
  readonly tags?: TagFilter;
  /**
   * How much waiting time outweighs one level of priority when this runtime leases work. Default 300,000
   * (five minutes). With a larger value, priorities are stricter.
   */
  readonly priorityAgeingMs?: number;
  /**
   * How many sessions may have activities running here; 0: the runtime takes no activities with a
   * session. Default 10.
   */
  readonly maxSessionsPerRuntime?: number;
  /** A session is released if the main loop does not renew it within this time. Default 30,000. */
  readonly sessionLeaseMs?: number;
  /** A session without activities for this long is released. Default 300,000. */
  readonly sessionIdleMs?: number;
  /** The interval at which unused sessions are deleted. Default 300,000. */
  readonly sessionCleanupMs?: number;
  /**
   * Replays committed turns again and compares the result with the live run. Default "auto": as many as
   * cost little, and none if NODE_ENV is "production". `{ sample: 0.01 }`: that share of turns.
   */
  readonly shadowReplay?: ShadowReplay;
  /**
   * The version that a start without a version and a `continueAsNew` use, per orchestration. Default: the
   * newest registered.
   */
  readonly versions?: Readonly<Record<string, string>>;
  /**
   * What happens to an orchestration whose activity kills its process again and again: the call throws,
   * or the orchestration fails. Default "throw".
   */
  readonly poison?: "throw" | "fail";
  /** If set, work whose name no live runtime registers fails after a while. Default: it waits. */
  readonly unregistered?: Unregistered;
  /** If set, ended instances and old executions are deleted after this time. */
  readonly retention?: Retention;
  /** How long `raise` with `ifMissing: "keep"` keeps an event. Default seven days. */
  readonly keepFor?: Duration;
  /** Limits on sizes and counts, each with a warning at 75 %. */
  readonly limits?: Partial<Limits>;
  /**
   * Guards against nondeterminism. Each can be switched off. Default: all; those for Node's I/O modules
   * only in development.
   */
  readonly guards?: GuardOptions;
  /** Where activities run that do not name an executor. Default "process". */
  readonly executor?: Executor;
  /** How values are encoded as text. */
  readonly codec?: Codec;
  /**
   * Where log lines go; default: the console. With `{ stream: true }`, the lines of `ctx.log` and of the `log` of
   * activities also go to the stream "perdure.log" of their instance.
   */
  readonly log?: LogSink | LogOptions;
  /** An observer of what happens, such as `openTelemetry()` of `perdure/otel`. */
  readonly telemetry?: Telemetry;
}

/** The option `log` of a runtime in its long form. */
export interface LogOptions {
  /** Default: the console. */
  readonly sink?: LogSink;
  /** Whether the lines of user code also go to the stream "perdure.log" of their instance. Default false. */
  readonly stream?: boolean;
}
const LOG_OPTIONS: Members<LogOptions> = { sink: true, stream: true };

/** Options whose resolved form differs from the given form. */
interface ResolvedRules {
  readonly limits: Limits;
  readonly keepFor: number;
  /** How long work may wait for a name that no runtime registers; null: forever. */
  readonly unregistered: number | null;
  readonly retention: ResolvedRetention | null;
  readonly telemetry: Telemetry | null;
  readonly log: LogSink;
  /** Whether the log lines of user code also go to the stream of log lines. */
  readonly logToStream: boolean;
}
/** Options without a default. */
type Absent = "instanceLeaseMs" | "taskLeaseMs" | "renewBufferMs" | "staleMs" | "workerNodeId";
export type ResolvedOptions = ResolvedRules &
  Required<Omit<RuntimeOptions, keyof ResolvedRules | Absent>> &
  Pick<RuntimeOptions, Absent>;

const DEFAULTS = {
  turnConcurrency: 1_000,
  activityConcurrency: 500,
  stepConcurrency: 100,
  leaseBatch: 256,
  pollIntervalMs: 1_000,
  stickyCacheMax: 10_000,
  stickyCacheBytesMax: 256 * 1024 * 1024,
  stickyIdleMs: 10_000,
  attemptsMax: 10,
  cancelGraceMs: 10_000,
  cancelTimeoutMs: 3_600_000,
  beatMs: 1_000,
  stallMs: 30_000,
  priorityAgeingMs: AGEING_MS,
  maxSessionsPerRuntime: 10,
  sessionLeaseMs: 30_000,
  sessionIdleMs: 300_000,
  sessionCleanupMs: 300_000,
} as const;

/** The smallest valid value of each number. */
const MINIMUM: Readonly<Record<string, number>> = {
  turnConcurrency: 1,
  activityConcurrency: 0,
  stepConcurrency: 1,
  leaseBatch: 1,
  instanceLeaseMs: 100,
  taskLeaseMs: 100,
  renewBufferMs: 10,
  pollIntervalMs: 10,
  stickyCacheMax: 0,
  stickyCacheBytesMax: 0,
  stickyIdleMs: 0,
  attemptsMax: 1,
  cancelGraceMs: 0,
  cancelTimeoutMs: 1,
  beatMs: 10,
  staleMs: 50,
  stallMs: 50,
  priorityAgeingMs: 1,
  maxSessionsPerRuntime: 0,
  sessionLeaseMs: 100,
  sessionIdleMs: 100,
  sessionCleanupMs: 100,
};
const OTHERS = [
  ...["workerNodeId", "tags", "shadowReplay", "limits", "keepFor", "guards", "codec", "log"],
  ...["versions", "poison", "unregistered", "retention", "executor"],
  "telemetry",
];

export function resolveOptions(options: RuntimeOptions, isDevelopment: boolean): ResolvedOptions {
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    const minimum = MINIMUM[name];
    if (minimum === undefined && !OTHERS.includes(name)) {
      const names = [...Object.keys(MINIMUM), ...OTHERS].join(", ");
      throw invalid(`unknown option "${name}"; the options are ${names}`);
    }
    if (minimum === undefined || value === undefined) continue;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < minimum) {
      throw invalid(`${name} must be an integer of at least ${minimum}; got ${String(value)}`);
    }
  }
  const resolved: ResolvedOptions = {
    ...DEFAULTS,
    tags: "untagged",
    shadowReplay: isDevelopment ? "auto" : "never",
    guards: true,
    versions: {},
    poison: "throw",
    executor: "process",
    codec: defaultCodec,
    ...defined(options), // an option set to undefined counts as absent
    limits: resolveLimits(options.limits),
    keepFor: parseKeepFor(options.keepFor),
    unregistered: resolveUnregistered(options.unregistered),
    retention: resolveRetention(options.retention),
    telemetry: resolveTelemetry(options.telemetry),
    ...resolveLog(options.log),
  };
  checkOthers(resolved);
  checkTogether(resolved);
  return resolved;
}

/** The duration of the leases of a drive, unless the options have one. The main loop renews them. */
const DRIVE_LEASE_MS = 30_000;

/** A runtime that drives has no liveness thread, so each of its leases ends by itself (drive.1). */
export function withEndingLeases(options: RuntimeOptions): RuntimeOptions {
  const { instanceLeaseMs, taskLeaseMs } = options;
  const leaseMs = instanceLeaseMs ?? taskLeaseMs ?? DRIVE_LEASE_MS;
  return {
    ...options,
    instanceLeaseMs: instanceLeaseMs ?? leaseMs,
    taskLeaseMs: taskLeaseMs ?? leaseMs,
  };
}

function checkOthers(options: ResolvedOptions): void {
  checkShadowReplay(options.shadowReplay);
  checkGuards(options.guards);
  checkTagFilter(options.tags);
  checkExecutor(options.executor, "executor of a runtime");
  checkVersions(options.versions);
  checkPoison(options.poison);
  const node: unknown = options.workerNodeId;
  if (node !== undefined && (typeof node !== "string" || node === "")) {
    throw invalid(`workerNodeId must be a string that is not empty; got ${showValue(node)}`);
  }
  if (typeof node === "string") checkStorable(node, "workerNodeId");
  const codec: Partial<Codec> | null = options.codec;
  if (typeof codec?.encode !== "function" || typeof codec.decode !== "function") {
    throw invalid("codec must be an object with the methods encode and decode");
  }
}

function resolveLog(given: LogSink | LogOptions = {}): Pick<ResolvedRules, "log" | "logToStream"> {
  const options = typeof given === "function" ? { sink: given } : given;
  const rule = "log must be a function (level, message, fields) => void";
  if (typeof options !== "object" || options === null) {
    throw invalid(`${rule}, or an object with sink and stream`);
  }
  checkMembers(options, LOG_OPTIONS, "log");
  const { sink = consoleLog(), stream = false } = options;
  if (typeof sink !== "function") throw invalid(rule.replace("log", "log.sink"));
  checkFlag(stream, "log.stream");
  return { log: safeSink(sink), logToStream: stream };
}

function resolveTelemetry(telemetry: Telemetry | undefined): Telemetry | null {
  if (telemetry === undefined) return null;
  const given: Partial<Telemetry> | null = telemetry;
  if (typeof given?.turn === "function") return safeTelemetry(telemetry);
  throw invalid("telemetry must be an observer, such as openTelemetry() of perdure/otel");
}

function checkShadowReplay(policy: unknown): void {
  if (policy === "auto" || policy === "always" || policy === "never") return;
  const sample: unknown = (policy as { sample?: unknown } | null)?.sample;
  if (typeof sample === "number" && sample >= 0 && sample <= 1) return;
  const wanted = '"auto", "always", "never" or { sample } with a share from 0 to 1';
  throw invalid(`shadowReplay must be ${wanted}; got ${showValue(policy)}`);
}

function checkGuards(guards: unknown): void {
  if (typeof guards === "boolean") return;
  if (typeof guards !== "object" || guards === null) {
    throw invalid(`guards must be true, false or an object of switches; got ${showValue(guards)}`);
  }
  for (const [name, value] of Object.entries(guards)) {
    if (!(GUARD_NAMES as readonly string[]).includes(name)) {
      throw invalid(`unknown guard "${name}"; the guards are ${GUARD_NAMES.join(", ")}`);
    }
    if (typeof value !== "boolean") {
      throw invalid(`the guard ${name} must be true or false; got ${showValue(value)}`);
    }
  }
}

function checkTogether(options: ResolvedOptions): void {
  if (options.staleMs !== undefined && options.staleMs < 2 * options.beatMs) {
    throw invalid(`staleMs (${options.staleMs}) must be at least twice beatMs (${options.beatMs})`);
  }
  // The main loop reports once per heartbeat interval that it turns. A shorter limit would treat every
  // pause as a stall.
  if (options.stallMs < 2 * options.beatMs) {
    throw invalid(`stallMs (${options.stallMs}) must be at least twice beatMs (${options.beatMs})`);
  }
  const { priorityAgeingMs: ageingMs, sessionIdleMs: idleMs, sessionLeaseMs } = options;
  if (ageingMs > AGEING_MS_MAX) {
    throw invalid(`priorityAgeingMs must be at most ${AGEING_MS_MAX}; got ${ageingMs}`);
  }
  // The last use of a session is recorded once per renewal. With a shorter limit a session in use would
  // count as idle.
  if (idleMs < sessionLeaseMs) {
    throw invalid(`sessionIdleMs (${idleMs}) must be at least sessionLeaseMs (${sessionLeaseMs})`);
  }
  const { instanceLeaseMs, taskLeaseMs, renewBufferMs: bufferMs } = options;
  if (bufferMs !== undefined && instanceLeaseMs === undefined && taskLeaseMs === undefined) {
    throw invalid("renewBufferMs needs instanceLeaseMs or taskLeaseMs: no other lease is renewed");
  }
  for (const name of ["instanceLeaseMs", "taskLeaseMs"] as const) {
    const leaseMs = options[name];
    if (leaseMs !== undefined && bufferMs !== undefined && bufferMs >= leaseMs) {
      throw invalid(`renewBufferMs (${bufferMs}) must be less than ${name} (${leaseMs})`);
    }
  }
}

/** If the sink throws or rejects, its line is lost and nothing else happens. */
function safeSink(sink: LogSink): LogSink {
  const called: (...line: Parameters<LogSink>) => unknown = sink;
  return (level, message, fields) => {
    try {
      const result = called(level, message, fields);
      if (result instanceof Promise) result.catch(() => undefined);
    } catch {
      // the line is lost
    }
  };
}
