// What the server may be told, checked once, before anything answers.

import type { LogSink } from "../core/log.ts";
import { consoleLog } from "../core/console-log.ts";

import { PerdureError } from "../core/errors.ts";
import { checkFlag, checkMembers, type Members } from "../core/known-members.ts";
import type { Authenticate } from "./access.ts";
import { auditToLog, type AuditSink } from "./audit.ts";
import { checkBasePath } from "./mount-path.ts";
import type { TokenEntry, TokenSource } from "./tokens.ts";

/** How much the server takes; every bound has a defined answer. */
export interface ServerLimits {
  /** Of a request's body. Default 1 MiB. */
  readonly bodyBytesMax: number;
  /** Levels of nesting in it. Default 64. */
  readonly jsonDepthMax: number;
  /** Members and elements in it. Default 100,000. */
  readonly jsonMembersMax: number;
  /** Requests a second of one caller, on average. Default 100. */
  readonly perSecond: number;
  /** Requests of one caller at once. Default 300. */
  readonly burst: number;
  /** Requests under way. Default 500. */
  readonly requestsMax: number;
  /** Streams and long waits under way. Default 500. */
  readonly streamsMax: number;
  /** Of one caller. Default 100. */
  readonly streamsPerCallerMax: number;
  /** How long an answer may take. Default 30 s. */
  readonly answerMs: number;
  /** The longest that a request may ask to wait. Default 60 s. */
  readonly waitMs: number;
  /** Between two signs of life of a stream; a revoked token ends its streams within this time. Default 5 s. */
  readonly heartbeatMs: number;
  /** At least this between two states of a stream. Default 100 ms. */
  readonly paceMs: number;
  /** Instances in one bulk operation. Default 10,000. */
  readonly bulkMax: number;
  /** Between two samples of the store; 0 takes none. Default 10 s. */
  readonly sampleMs: number;
  /** Samples kept. Default 360, an hour. */
  readonly samplesMax: number;
}

/** Who may come in, from where, and what they find. */
export interface ServerOptions {
  /** Who may come in. Without tokens and `authenticate`, one admin token is made up: `server.token`. */
  readonly tokens?: readonly TokenEntry[] | TokenSource;
  /** The application's own way of knowing its users. */
  readonly authenticate?: Authenticate;
  /** No change of any kind, for anybody. Default false. */
  readonly readOnly?: boolean;
  /** Names that the server answers for, besides addresses and this machine's own. */
  readonly hosts?: readonly string[];
  /** Origins of pages that may talk to it, besides its own. */
  readonly origins?: readonly string[];
  /**
   * The prefix below which browsers reach the server, such as "/perdure". Needed where the server cannot see it: below
   * a prefix of Fastify, after Hono's `app.mount`, behind a proxy that removes it. Express and `app.route` need none.
   */
  readonly basePath?: string;
  /** Believe the X-Forwarded-* headers of the proxy in front. Default false. */
  readonly trustProxy?: boolean;
  /** Where the audit goes. Default: into the log. */
  readonly audit?: AuditSink;
  /** Default: the console. */
  readonly log?: LogSink;
  /** The dashboard's folder; false serves none. Default: the one that is part of the package. */
  readonly ui?: string | false;
  /** More lines for `/metrics`, in the Prometheus text format: a runtime's own, for example. */
  readonly prometheus?: () => string | Promise<string>;
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
  prometheus: true,
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
  /** Null: each request shows it. */
  readonly basePath: string | null;
  readonly trustProxy: boolean;
  readonly log: LogSink;
  readonly audit: AuditSink;
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
    prometheus: options.prometheus ?? null,
  };
}

/** May be 0: no samples, no pace. */
const MAY_BE_ZERO: readonly string[] = ["sampleMs", "paceMs"];

function resolveLimits(given: Partial<ServerLimits>): ServerLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_SERVER_LIMITS, name)) {
      throw new PerdureError("INVALID_ARGUMENT", `There is no limit "${name}".`);
    }
    const least = MAY_BE_ZERO.includes(name) ? 0 : 1;
    if (Number.isSafeInteger(value) && value >= least) continue;
    const message = `The limit ${name} is a whole number from ${least} on, not ${String(value)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  return { ...DEFAULT_SERVER_LIMITS, ...given };
}
