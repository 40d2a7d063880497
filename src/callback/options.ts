// The options of `callbacks`. They are checked once, before the application answers requests.

import type { LogSink } from "../core/telemetry/log.ts";
import { consoleLog } from "../core/telemetry/console-log.ts";
import {
  checkFlag,
  checkFunction,
  checkInteger,
  checkMembers,
  invalidArgument,
  type Members,
} from "../core/checks.ts";
import type { CallbackDef } from "../core/define/callback.ts";
import { showValue } from "../core/ids/ids.ts";
import type { StandardSchema } from "../core/values/standard-schema.ts";
import type { PageTexts } from "./page.ts";
import type { Webhook } from "./webhook.ts";

/** Limits of the callbacks. A request that exceeds a limit gets a defined answer. */
export interface CallbackLimits {
  /** Requests per second and token. Default 10. */
  readonly tokenPerSecond: number;
  /** Requests per second and IP address. Default 100. */
  readonly addressPerSecond: number;
  /** The largest body, in bytes. Default 1 MiB. */
  readonly bodyBytesMax: number;
  /** The time until the whole body must have arrived, in milliseconds. Default 10 s. */
  readonly bodyMs: number;
  /** The deepest nesting of JSON in a body. Default 64. */
  readonly jsonDepthMax: number;
  /** The most object members and array elements in a body. Default 100,000. */
  readonly jsonMembersMax: number;
  /** The most concurrent requests. Default 500. */
  readonly requestsMax: number;
  /** The longest time for an answer after the body has arrived, in milliseconds. Default 30 s. */
  readonly answerMs: number;
}

/** What the page of a link is about. */
export interface PageSubject {
  /** "callback": a wait of `ctx.callback`. "activity": an activity that called `completeLater`. */
  readonly kind: "callback" | "activity";
  /** The name of the callback or of the activity. */
  readonly name: string;
  /** The parameters of the link, which the button sends. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** Options of `callbacks`. */
export interface CallbacksOptions {
  /** Definitions whose schemas check a value when it arrives. A value that a schema refuses gets 422. */
  readonly callbacks?: readonly CallbackDef<unknown, never>[];
  /** Received at `/webhook/{name}`. */
  readonly webhooks?: readonly Webhook[];
  /** Headers of a request that the waiting code receives, such as "x-request-id". */
  readonly headers?: readonly string[];
  /** The texts of the page that a link opens. Default: English texts with the name of the callback. */
  readonly page?: (subject: PageSubject) => PageTexts;
  readonly limits?: Partial<CallbackLimits>;
  /** Whether to trust the header X-Forwarded-For of a reverse proxy. Default false. */
  readonly trustProxy?: boolean;
  /** Receives log lines. Default: the console. */
  readonly log?: LogSink;
}

const OPTIONS: Members<CallbacksOptions> = {
  callbacks: true,
  webhooks: true,
  headers: true,
  page: true,
  limits: true,
  trustProxy: true,
  log: true,
};

const DEFAULT_LIMITS: CallbackLimits = {
  tokenPerSecond: 10,
  addressPerSecond: 100,
  bodyBytesMax: 1_048_576,
  bodyMs: 10_000,
  jsonDepthMax: 64,
  jsonMembersMax: 100_000,
  requestsMax: 500,
  answerMs: 30_000,
};

export interface CallbacksSettings {
  /** By the name of the callback. */
  readonly schemas: ReadonlyMap<string, StandardSchema>;
  /** By the name of the webhook. */
  readonly webhooks: ReadonlyMap<string, Webhook>;
  readonly headers: readonly string[];
  readonly page: (subject: PageSubject) => PageTexts;
  readonly limits: CallbackLimits;
  readonly trustProxy: boolean;
  readonly log: LogSink;
}

export function resolveCallbacksOptions(options: CallbacksOptions): CallbacksSettings {
  checkMembers(options, OPTIONS, "callbacks");
  checkFlag(options.trustProxy, "trustProxy");
  if (options.page !== undefined) checkFunction(options.page, "page of callbacks");
  const definitions = byName(options.callbacks ?? [], "callback");
  const schemas = new Map<string, StandardSchema>();
  for (const [name, { schema }] of definitions) if (schema !== undefined) schemas.set(name, schema);
  return {
    schemas,
    webhooks: byName(options.webhooks ?? [], "webhook"),
    headers: headerNames(options.headers ?? [], "callbacks"),
    page: options.page ?? defaultTexts,
    limits: resolveLimits(options.limits ?? {}),
    trustProxy: options.trustProxy ?? false,
    log: options.log ?? consoleLog(),
  };
}

/** Header names in lower case. Throws for a text that cannot be one. */
export function headerNames(given: readonly string[], what: string): readonly string[] {
  if (!Array.isArray(given)) {
    throw invalidArgument(`headers of ${what} must be a list of names; got ${showValue(given)}.`);
  }
  return given.map((name: unknown) => {
    if (typeof name === "string" && /^[\w!#$%&'*+.^`|~-]+$/.test(name)) return name.toLowerCase();
    throw invalidArgument(`headers of ${what} must be header names; got ${showValue(name)}.`);
  });
}

/** The chosen headers that the request has, as a record with names in lower case. */
export function chosenHeaders(
  headers: Headers,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const present = names.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return Object.fromEntries(present);
}

function byName<Item extends { readonly kind: string; readonly name: string }>(
  list: readonly Item[],
  kind: Item["kind"],
): ReadonlyMap<string, Item> {
  const found = new Map<string, Item>();
  for (const item of list) {
    const given: unknown = item;
    const isItem = typeof given === "object" && given !== null && item.kind === kind;
    if (!isItem) {
      throw invalidArgument(`${kind}s must be a list of ${kind}(…); got ${showValue(given)}.`);
    }
    if (found.has(item.name)) throw invalidArgument(`There are two ${kind}s "${item.name}".`);
    found.set(item.name, item);
  }
  return found;
}

function resolveLimits(given: Partial<CallbackLimits>): CallbackLimits {
  const members = Object.fromEntries(Object.keys(DEFAULT_LIMITS).map((name) => [name, true]));
  checkMembers(given, members as Members<Partial<CallbackLimits>>, "limits of callbacks");
  for (const [name, value] of Object.entries(given)) checkInteger(value, 1, `limits.${name}`);
  return { ...DEFAULT_LIMITS, ...given };
}

function defaultTexts({ name }: PageSubject): PageTexts {
  return {
    title: `Confirm: ${name}`,
    text: "Nothing has been sent yet. Press the button to send your answer.",
    button: "Confirm",
  };
}
