// The item of a start: checks and encodes its arguments, before anything is written. And its write.

import { hash } from "node:crypto";
import type { Codec } from "../core/values/codec.ts";
import { checkPriority, type Orchestration } from "../core/define/definitions.ts";
import { parseDuration, type Duration } from "../core/time/duration.ts";
import type { Environment } from "../core/time/environment.ts";
import type { StartContext } from "../core/context/app-types.ts";
import { encodeContext } from "../core/context/start-context.ts";
import type { OrchestrationStarted } from "../core/history/events.ts";
import { startAttributes, type Attributes } from "../core/define/attributes.ts";
import { parseInstanceId, parseName, parseRequestId, showValue } from "../core/ids/ids.ts";
import type { ConflictPolicy, StartItem } from "../core/provider/commit.ts";
import type { KeptMessage } from "../core/provider/messages.ts";
import {
  checkChoice,
  checkMembers,
  invalidArgument,
  momentOf,
  type Members,
} from "../core/checks.ts";
import { parseVersion } from "../core/ids/semver.ts";
import { validateToSend } from "../core/values/standard-schema.ts";
import { terminated } from "../core/errors/built-in-failures.ts";
import { requestDigestOf } from "./request-digest.ts";
import type { Store } from "./store.ts";

const CONFLICT_POLICIES = ["fail", "useExisting", "restart", "terminateExisting"] as const;
const DEFAULT_PRIORITY = 3;

/** Options of `client.start`. */
export interface StartOptions extends StartContext {
  /** Unique in the store. Default: derived from the request id if there is one, otherwise random. */
  readonly id?: string;
  readonly version?: string;
  /** What happens when the id is in use. Default "fail". */
  readonly onConflict?: ConflictPolicy;
  /** Begin after this time. Not together with `at`. */
  readonly delay?: Duration;
  /** Begin at this time. Not together with `delay`. */
  readonly at?: Date;
  /** 1 (runs first) to 5 (runs last). Default 3. */
  readonly priority?: number;
  readonly attributes?: Attributes;
  /** Events that the instance finds in its inbox when it begins, in this order. */
  readonly events?: readonly { readonly name: string; readonly data?: unknown }[];
  /** Repeated calls with the same request id start one instance. */
  readonly requestId?: string;
  /** A digest of the request. The same request id with a different digest raises `KEY_REUSED`. */
  readonly requestDigest?: string;
  /**
   * Your transaction on the store's database: the instance exists when you commit. On SQLite a
   * `DatabaseSync`; on PostgreSQL a client of `pg`, or the result of an adapter (`fromDrizzle`,
   * `fromKysely`, `fromPrisma`).
   */
  readonly tx?: object;
}
const START_OPTIONS: Members<StartOptions> = {
  id: true,
  version: true,
  onConflict: true,
  delay: true,
  at: true,
  priority: true,
  attributes: true,
  events: true,
  requestId: true,
  requestDigest: true,
  tx: true,
  context: true,
};
type StartEvent = NonNullable<StartOptions["events"]>[number];
const START_EVENT: Members<StartEvent> = { name: true, data: true };
/** The name of the orchestration. Throws for another target, and for unknown options. */
export function checkStart(
  target: Orchestration<never, unknown> | string,
  options: StartOptions,
): string {
  if (typeof target !== "string" && target?.kind !== "orchestration") {
    const got = showValue(target);
    throw invalidArgument(`client.start requires an orchestration or its name; got ${got}.`);
  }
  checkMembers(options, START_OPTIONS, "client.start");
  return typeof target === "string" ? parseName(target, "orchestration name") : target.name;
}

/** `ids`: of the instance, unless the options have an id. Default: generated. */
export async function startItem(
  store: Store,
  target: Orchestration<never, unknown> | string,
  input: unknown,
  options: StartOptions,
  ids?: { readonly id: string; readonly runId: string },
): Promise<StartItem> {
  const name = checkStart(target, options);
  const { environment } = store.provider;
  const version = options.version ?? (typeof target === "string" ? null : target.version);
  if (version !== null) parseVersion(version);
  const requestId = options.requestId === undefined ? null : parseRequestId(options.requestId);
  const id =
    options.id === undefined
      ? (ids?.id ?? generatedId(environment, name, requestId))
      : parseInstanceId(options.id);
  const schema = typeof target === "string" ? undefined : target.options.input;
  const checked = validateToSend(schema, input, `input of "${name}"`);
  const sent = checked instanceof Promise ? await checked : checked;
  checkChoice(options.onConflict, CONFLICT_POLICIES, "onConflict");
  if (options.priority !== undefined) checkPriority(options.priority, `instance "${id}"`);
  const attributes = startAttributes(options.attributes);
  const context = encodeContext(options.context, store.codec, `instance "${id}"`);
  const runId = ids?.runId ?? environment.randomHex(16);
  const started: OrchestrationStarted = {
    kind: "OrchestrationStarted",
    name,
    orchestrationVersion: version ?? "",
    input: store.codec.encode(sent.value),
    runId,
    seed: environment.randomHex(16),
    ...(context === undefined ? {} : { context }),
    ...(sent.isOutput ? {} : { unchecked: true }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
  };
  return {
    kind: "start",
    id,
    runId,
    name,
    version,
    started: JSON.stringify(started),
    parent: null,
    onParentClose: "cancel",
    priority: options.priority ?? DEFAULT_PRIORITY,
    attributes,
    onConflict: options.onConflict ?? "fail",
    requestId,
    ...requestDigestOf(options),
    terminated: JSON.stringify(terminated("another start replaced the instance")),
    ...timing(options),
    events: startEvents(options.events ?? [], store.codec),
    lease: null,
  };
}

/**
 * The store keeps request ids per instance. A repeated call must therefore lead to the same instance id, so
 * the id is derived from the request id.
 */
function generatedId(environment: Environment, name: string, requestId: string | null): string {
  if (requestId === null) return environment.randomHex(16);
  return hash("sha256", JSON.stringify([name, requestId]), "hex").slice(0, 32);
}

function startEvents(events: readonly StartEvent[], codec: Codec): readonly KeptMessage[] {
  if (!Array.isArray(events)) {
    throw invalidArgument(`events must be an array of { name, data }; got ${showValue(events)}.`);
  }
  return events.map((event: StartEvent) => {
    checkMembers(event, START_EVENT, "an event of client.start");
    const { name, data } = event;
    return { name: parseName(name, "event name"), data: codec.encode(data), key: null };
  });
}

function timing(options: StartOptions): { delayMs?: number; dueAt?: number } {
  if (options.delay !== undefined && options.at !== undefined) {
    throw invalidArgument("Give delay or at, not both.");
  }
  if (options.delay !== undefined) return { delayMs: parseDuration(options.delay, "delay") };
  return options.at === undefined ? {} : { dueAt: momentOf(options.at, "at") };
}
