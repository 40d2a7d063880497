// The options of the server. They are checked once, before the server answers requests.

import type { LogSink } from "../core/telemetry/log.ts";
import { consoleLog } from "../core/telemetry/console-log.ts";

import type { CallbacksOptions } from "../callback/options.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { checkFlag, checkMembers, type Members } from "../core/checks.ts";
import type { Authenticate } from "./security/access.ts";
import { auditToLog, type AuditSink } from "./security/audit.ts";
import { checkBasePath } from "./http/mount-path.ts";
import type { TokenEntry, TokenSource } from "./security/tokens.ts";

/** Limits of the server. A request that exceeds a limit gets a defined error. */
export interface ServerLimits {
  /** The largest request body, in bytes. Default 1 MiB. */
  readonly bodyBytesMax: number;
  /** The deepest nesting of JSON in a body. Default 64. */
  readonly jsonDepthMax: number;
  /** The most object members and array elements in a body. Default 100,000. */
  readonly jsonMembersMax: number;
  /** The average rate of requests per second and caller. Default 100. */
  readonly perSecond: number;
  /** The most requests that one caller can send in a burst. Default 300. */
  readonly burst: number;
  /** The most concurrent requests. Default 500. */
  readonly requestsMax: number;
  /** The most concurrent streams and long waits. Default 500. */
  readonly streamsMax: number;
  /** The most concurrent streams and long waits of one caller. Default 100. */
  readonly streamsPerCallerMax: number;
  /** The longest time for an answer, in milliseconds. Default 30 s. */
  readonly answerMs: number;
  /** The longest `timeout` that a request can ask for, in milliseconds. Default 60 s. */
  readonly waitMs: number;
  /**
   * The interval of heartbeats on a stream. Revoking a token ends its streams within this time. Default 5 s.
   */
  readonly heartbeatMs: number;
  /** The shortest time between two states on a stream. Default 100 ms. */
  readonly paceMs: number;
  /** The most instances in one bulk operation. Default 10,000. */
  readonly bulkMax: number;
  /** The time between two samples of the store. 0 turns sampling off. Default 10 s. */
  readonly sampleMs: number;
  /** How many samples the server keeps. Default 360, one hour. */
  readonly samplesMax: number;
}

/** Options of the server: access, host names and origins, mount path, audit, log, limits. */
export interface ServerOptions {
  /**
   * The accepted tokens. Without `tokens` and `authenticate` the server generates an admin token:
   * `server.token`.
   */
  readonly tokens?: readonly TokenEntry[] | TokenSource;
  /** Identifies callers by the application's own means, such as its session cookie. */
  readonly authenticate?: Authenticate;
  /** Refuses every change, for every role. Default false. */
  readonly readOnly?: boolean;
  /** Host names that the server accepts, in addition to IP addresses and names of this machine. */
  readonly hosts?: readonly string[];
  /** Origins whose pages may send requests, in addition to the server's own origin. */
  readonly origins?: readonly string[];
  /**
   * The path prefix under which browsers reach the server, such as "/perdure". Set it if the server cannot
   * detect the prefix: under a Fastify prefix, with Hono's `app.mount`, or behind a proxy that removes it.
   * Express and Hono's `app.route` do not need it.
   */
  readonly basePath?: string;
  /** Whether to trust the X-Forwarded-* headers of a reverse proxy. Default false. */
  readonly trustProxy?: boolean;
  /** Receives the audit entries. Default: the log. */
  readonly audit?: AuditSink;
  /** Receives log lines. Default: the console. */
  readonly log?: LogSink;
  /** The folder of the dashboard. False: no dashboard. Default: the dashboard in the package. */
  readonly ui?: string | false;
  /**
   * Whether this process is ready to work, for `/readyz`: `() => perdure.runtime.isReady`. The server itself
   * checks that the store answers. Default: always.
   */
  readonly ready?: () => boolean | Promise<boolean>;
  /** Returns more lines for `/metrics` in the Prometheus text format, for example those of a runtime. */
  readonly prometheus?: () => string | Promise<string>;
  /**
   * What the server receives at `/callbacks`: options of `callbacks(client)`. False: nothing. Default: callbacks, if the
   * store was opened with `callbacks`. A read-only server receives nothing.
   */
  readonly callbacks?: Omit<CallbacksOptions, "log" | "trustProxy"> | false;
  readonly limits?: Partial<ServerLimits>;
}

export const SERVER_OPTIONS: Members<ServerOptions> = {
  tokens: true,
  authenticate: true,
  readOnly: true,
  hosts: true,
  origins: true,
  basePath: true,
  trustProxy: true,
  audit: true,
  log: true,
  ui: true,
  ready: true,
  prometheus: true,
  callbacks: true,
  limits: true,
};

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  bodyBytesMax: 1_048_576,
  jsonDepthMax: 64,
  jsonMembersMax: 100_000,
  perSecond: 100,
  burst: 300,
  requestsMax: 500,
  streamsMax: 500,
  streamsPerCallerMax: 100,
  answerMs: 30_000,
  waitMs: 60_000,
  heartbeatMs: 5_000,
  paceMs: 100,
  bulkMax: 10_000,
  sampleMs: 10_000,
  samplesMax: 360,
};

export interface Settings {
  readonly limits: ServerLimits;
  readonly readOnly: boolean;
  /** Null: the server detects the prefix per request. */
  readonly basePath: string | null;
  readonly trustProxy: boolean;
  readonly log: LogSink;
  readonly audit: AuditSink;
  readonly ready: () => boolean | Promise<boolean>;
  readonly prometheus: (() => string | Promise<string>) | null;
}

export function resolveOptions(options: ServerOptions): Settings {
  checkMembers(options, SERVER_OPTIONS, "a server");
  checkFlag(options.readOnly, "readOnly");
  checkFlag(options.trustProxy, "trustProxy");
  const log = options.log ?? consoleLog();
  return {
    limits: resolveLimits(options.limits ?? {}),
    readOnly: options.readOnly ?? false,
    basePath: checkBasePath(options.basePath),
    trustProxy: options.trustProxy ?? false,
    log,
    audit: options.audit ?? auditToLog(log),
    ready: options.ready ?? (() => true),
    prometheus: options.prometheus ?? null,
  };
}

/** Limits that may be 0: no sampling, no pause between states. */
const MAY_BE_ZERO: readonly string[] = ["sampleMs", "paceMs"];

function resolveLimits(given: Partial<ServerLimits>): ServerLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_SERVER_LIMITS, name)) {
      throw new PerdureError("INVALID_ARGUMENT", `Unknown server limit "${name}".`);
    }
    const least = MAY_BE_ZERO.includes(name) ? 0 : 1;
    if (Number.isSafeInteger(value) && value >= least) continue;
    const message = `The limit ${name} must be a whole number of at least ${least}; got ${String(value)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  return { ...DEFAULT_SERVER_LIMITS, ...given };
}
