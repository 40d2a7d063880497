// Runtime options: defaults and what is refused.
//   OP1. Every option is honoured; one that is unknown, out of range or contradicts another is INVALID_ARGUMENT
//        when the runtime is made.

import { defaultCodec, type Codec } from "../core/codec.ts";
import { PerdureError } from "../core/errors.ts";
import { checkExecutor, type Executor } from "../core/executor.ts";
import { GUARD_NAMES, type GuardOptions } from "../core/guard-names.ts";
import { checkStorable } from "../core/ids.ts";
import { resolveLimits, type Limits } from "../core/limits.ts";
import { consoleLog } from "../core/console-log.ts";
import type { LogSink } from "../core/log.ts";
import { AGEING_MS, AGEING_MS_MAX } from "../core/provider/ageing.ts";
import type { TagFilter } from "../core/provider/tasks.ts";
import { checkTagFilter } from "../core/tags.ts";
import { quietTelemetry } from "../core/quiet-telemetry.ts";
import type { Telemetry } from "../core/telemetry.ts";
import {
  checkPoison,
  checkVersions,
  resolveRetention,
  resolveUnregistered,
  type ResolvedRetention,
  type Retention,
  type Unregistered,
} from "./policies.ts";
import type { ShadowReplay } from "./shadowing.ts";

/** How a runtime works. Every option has a default that is meant for everyday use. */
export interface RuntimeOptions {
  /** Instances whose turns may be under way at once. Default 1,000. */
  readonly turnConcurrency?: number;
  /** Activities that may run at once. Default 500. */
  readonly activityConcurrency?: number;
  /** Inline steps that may run at once. Default 100. */
  readonly stepConcurrency?: number;
  /** Instances or tasks taken from the store at a time. Default 256. */
  readonly leaseBatch?: number;
  /** Set: an instance's lease also ends by itself after this time, renewed by the main loop. */
  readonly instanceLeaseMs?: number;
  /** Set: a task's lease also ends by itself after this time, renewed by the main loop. */
  readonly taskLeaseMs?: number;
  /** How long before its end a lease is renewed. Default: two thirds of the lease. */
  readonly renewBufferMs?: number;
  /** The safety net's period; wake-ups are pushed. Default 1,000. */
  readonly pollIntervalMs?: number;
  /** Live instances kept in memory; 0: none, every turn replays its history. Default 10,000. */
  readonly stickyCacheMax?: number;
  /** How much history the live instances may have together. Default 256 MiB. */
  readonly stickyCacheBytesMax?: number;
  /** A live instance that nothing happened to for this long is let go. Default 10,000. */
  readonly stickyIdleMs?: number;
  /** Deaths of its process after which an activity is poison. Default 10. */
  readonly attemptsMax?: number;
  /** How long a cancelled activity keeps its slot while it winds up. Default 10,000. */
  readonly cancelGraceMs?: number;
  /** How long an instance may clean up after a cancel before it is terminated. Default one hour. */
  readonly cancelTimeoutMs?: number;
  /** How often this runtime says that it is alive. Default 1,000. */
  readonly beatMs?: number;
  /** After this long without a beat others take over. Default 5,000 with a helper thread, else 30,000. */
  readonly staleMs?: number;
  /** A main loop that stands still for this long stops the beats. Default 30,000. */
  readonly stallMs?: number;
  /**
   * A stable name for this worker, shown to people; runtimes with one name own sessions together. Default: the
   * host's name and process id, and sessions are the runtime's own.
   */
  readonly workerNodeId?: string;
  /** Which tasks it takes: those whose tags it has all. Default "untagged". */
  readonly tags?: TagFilter;
  /**
   * How long a wait is worth one priority, when this runtime takes work. Default 300,000: five minutes. The larger, the
   * stricter priorities are.
   */
  readonly priorityAgeingMs?: number;
  /** Sessions whose activities may be under way at once; 0: takes none. Default 10. */
  readonly maxSessionsPerRuntime?: number;
  /** How long a session is held without being renewed by the main loop. Default 30,000. */
  readonly sessionLeaseMs?: number;
  /** A session without activities for this long is let go. Default 300,000. */
  readonly sessionIdleMs?: number;
  /** How often sessions that nobody holds or waits for are removed. Default 300,000. */
  readonly sessionCleanupMs?: number;
  /**
   * Replays committed turns beside the live run and compares. Default "auto": as much as costs little, nothing when
   * NODE_ENV is "production". `{ sample: 0.01 }`: that share of turns.
   */
  readonly shadowReplay?: ShadowReplay;
  /** Which version a start by name and a `continueAsNew` take, by orchestration. Default: the newest registered. */
  readonly versions?: Readonly<Record<string, string>>;
  /** What an activity that ends its process again and again does to its orchestration. Default "throw". */
  readonly poison?: "throw" | "fail";
  /** Set: work whose name no live runtime registers fails after a while. Default: it waits. */
  readonly unregistered?: Unregistered;
  /** Set: ended instances and old executions are deleted when they are older than this. */
  readonly retention?: Retention;
  /** Limits on size and number, each with a warning at 75 %. */
  readonly limits?: Partial<Limits>;
  /** Guards against nondeterminism; each can be switched off. Default: all, Node's I/O modules while developing. */
  readonly guards?: GuardOptions;
  /** Where activities run that do not say. Default "process". */
  readonly executor?: Executor;
  /** How values become text. */
  readonly codec?: Codec;
  readonly log?: LogSink;
  /** Who is told what happens, such as `openTelemetry()` of `perdure/otel`. */
  readonly telemetry?: Telemetry;
}

/** Options whose resolved form is another than the given one. */
interface ResolvedRules {
  readonly limits: Limits;
  /** For how long a name that nobody registers may wait; null: for ever. */
  readonly unregistered: number | null;
  readonly retention: ResolvedRetention | null;
  readonly telemetry: Telemetry | null;
}
export type ResolvedOptions = ResolvedRules &
  Required<
    Omit<
      RuntimeOptions,
      | keyof ResolvedRules
      | "instanceLeaseMs"
      | "taskLeaseMs"
      | "renewBufferMs"
      | "staleMs"
      | "workerNodeId"
    >
  > &
  Pick<
    RuntimeOptions,
    "instanceLeaseMs" | "taskLeaseMs" | "renewBufferMs" | "staleMs" | "workerNodeId"
  >;

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

/** The smallest value each number may have. */
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
  ...["workerNodeId", "tags", "shadowReplay", "limits", "guards", "codec", "log"],
  ...["versions", "poison", "unregistered", "retention", "executor"],
  "telemetry",
];

export function resolveOptions(options: RuntimeOptions, isDevelopment: boolean): ResolvedOptions {
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    const minimum = MINIMUM[name];
    if (minimum === undefined && !OTHERS.includes(name))
      throw invalid(`${name} is no runtime option`);
    if (minimum === undefined || value === undefined) continue;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < minimum) {
      throw invalid(`${name} is a whole number of at least ${minimum}, not ${String(value)}`);
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
    log: consoleLog(),
    ...withoutUndefined(options),
    limits: resolveLimits(options.limits),
    unregistered: resolveUnregistered(options.unregistered),
    retention: resolveRetention(options.retention),
    telemetry: resolveTelemetry(options.telemetry),
  };
  checkOthers(resolved);
  checkTogether(resolved);
  return { ...resolved, log: quietly(resolved.log) };
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
    throw invalid(`workerNodeId is a text that is not empty`);
  }
  if (typeof node === "string") checkStorable(node, "workerNodeId");
  const codec: Partial<Codec> | null = options.codec;
  if (typeof codec?.encode !== "function" || typeof codec.decode !== "function") {
    throw invalid("codec has the methods encode and decode");
  }
  if (typeof options.log !== "function") {
    throw invalid("log is a function of a level, a message and fields");
  }
}

function resolveTelemetry(telemetry: Telemetry | undefined): Telemetry | null {
  if (telemetry === undefined) return null;
  const given: Partial<Telemetry> | null = telemetry;
  if (typeof given?.turn === "function") return quietTelemetry(telemetry);
  throw invalid("telemetry is an observer, such as openTelemetry() of perdure/otel");
}

function checkShadowReplay(policy: unknown): void {
  if (policy === "auto" || policy === "always" || policy === "never") return;
  const sample: unknown = (policy as { sample?: unknown } | null)?.sample;
  if (typeof sample === "number" && sample >= 0 && sample <= 1) return;
  throw invalid('shadowReplay is "auto", "always", "never" or { sample } with a share from 0 to 1');
}

function checkGuards(guards: unknown): void {
  if (typeof guards === "boolean") return;
  if (typeof guards !== "object" || guards === null) {
    throw invalid("guards is true, false, or an object of switches");
  }
  for (const [name, value] of Object.entries(guards)) {
    if (!(GUARD_NAMES as readonly string[]).includes(name)) throw invalid(`${name} is no guard`);
    if (typeof value !== "boolean") throw invalid(`the guard ${name} is true or false`);
  }
}

function checkTogether(options: ResolvedOptions): void {
  if (options.staleMs !== undefined && options.staleMs < 2 * options.beatMs) {
    throw invalid(`staleMs (${options.staleMs}) is at least twice beatMs (${options.beatMs})`);
  }
  // The loop says once a beat that it turns; a shorter patience would take every pause for a stall.
  if (options.stallMs < 2 * options.beatMs) {
    throw invalid(`stallMs (${options.stallMs}) is at least twice beatMs (${options.beatMs})`);
  }
  if (options.priorityAgeingMs > AGEING_MS_MAX) {
    throw invalid(`priorityAgeingMs (${options.priorityAgeingMs}) is at most ${AGEING_MS_MAX}`);
  }
  const { sessionIdleMs, sessionLeaseMs } = options;
  // A session in use is bumped once a renewal; a shorter patience would take it for idle.
  if (sessionIdleMs < sessionLeaseMs) {
    throw invalid(
      `sessionIdleMs (${sessionIdleMs}) is at least sessionLeaseMs (${sessionLeaseMs})`,
    );
  }
  const { instanceLeaseMs, taskLeaseMs, renewBufferMs: bufferMs } = options;
  if (bufferMs !== undefined && instanceLeaseMs === undefined && taskLeaseMs === undefined) {
    throw invalid("renewBufferMs needs instanceLeaseMs or taskLeaseMs: no other lease is renewed");
  }
  for (const name of ["instanceLeaseMs", "taskLeaseMs"] as const) {
    const leaseMs = options[name];
    if (leaseMs !== undefined && bufferMs !== undefined && bufferMs >= leaseMs) {
      throw invalid(`renewBufferMs (${bufferMs}) is less than ${name} (${leaseMs})`);
    }
  }
}

/** A sink that fails, now or later, loses its line and nothing else. */
function quietly(sink: LogSink): LogSink {
  const asked: (...line: Parameters<LogSink>) => unknown = sink;
  return (level, message, fields) => {
    try {
      const result = asked(level, message, fields);
      if (result instanceof Promise) result.catch(() => undefined);
    } catch {
      // told above
    }
  };
}

/** An option given as undefined is one not given. */
function withoutUndefined(options: RuntimeOptions): RuntimeOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function invalid(why: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `Runtime options: ${why}.`);
}
