// A store on disk, a runtime, a server on a free port, and clients of every role; all closed when the test ends.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  activity,
  event,
  orchestration,
  Perdure,
  type LogLevel,
  type Registrable,
} from "../../../src/index.ts";
import {
  createToken,
  HttpClient,
  serve,
  type AuditEntry,
  type Listening,
  type ListenOptions,
  type Role,
} from "../../../src/server/index.ts";

export const go = event<string>("go");

export const double = activity("double", async (value: number) => value * 2);

/** Doubles its input, waits for the event "go", and returns the doubled value and the event's data. */
export const worker = orchestration("worker", async (ctx, value: number) => {
  ctx.setStatus({ phase: "doubling" });
  const doubled = await ctx.run(double, value);
  ctx.kv.set("doubled", doubled);
  ctx.setAttributes({ customer: `c-${value}` });
  ctx.setStatus({ phase: "waiting" });
  const word = await ctx.waitFor(go);
  return { doubled, word };
});

/** Returns its input unchanged. */
export const echo = orchestration("echo", async (_ctx, value: unknown) => value);

export const failing = orchestration("failing", async () => {
  const cause = Object.assign(new TypeError("the reason"), { code: "E42", when: new Date(0) });
  throw new Error("it went wrong", { cause });
});

export const parent = orchestration("parent", async (ctx) => ctx.call(worker, 3));

export const rounds = orchestration("rounds", async (ctx, left: number): Promise<unknown> => {
  await ctx.sleep(1);
  return left === 0 ? "done" : ctx.continueAsNew(left - 1);
});

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: unknown;
}
export interface Scene {
  readonly perdure: Perdure;
  readonly listening: Listening;
  readonly tokens: Readonly<Record<Role, string>>;
  readonly audit: AuditEntry[];
  readonly log: LogLine[];
  /** A request to the API, with this role's token. */
  call(role: Role | null, method: string, path: string, init?: CallInit): Promise<Response>;
  as(role: Role): HttpClient;
}
export interface CallInit {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "perdure-server-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function openPerdure(register: readonly Registrable[] = []): Promise<Perdure> {
  const perdure = await Perdure.open(`sqlite:${join(temporaryFolder(), "store.db")}`, {
    register: [worker, echo, failing, parent, rounds, double, ...register],
    runtime: { log: () => undefined },
    callbacks: {
      secrets: ["a-secret-of-at-least-32-bytes-for-tests"],
      baseUrl: "http://127.0.0.1/callbacks",
    },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

export async function openScene(
  options: ListenOptions = {},
  register: readonly Registrable[] = [],
): Promise<Scene> {
  const perdure = await openPerdure(register);
  const made = {
    viewer: createToken({ name: "vera", role: "viewer" }),
    operator: createToken({ name: "otto", role: "operator" }),
    admin: createToken({ name: "ada", role: "admin" }),
  };
  const audit: AuditEntry[] = [];
  const log: LogLine[] = [];
  const listening = await serve(perdure.client, {
    port: 0,
    tokens: Object.values(made).map(({ entry }) => entry),
    audit: (entry) => void audit.push(entry),
    log: (level, message, fields) => void log.push({ level, message, fields }),
    callbacks: false, // test/interfaces/callback has the tests of callbacks
    ...options,
  });
  onTestFinished(() => listening.close());
  const tokens = {
    viewer: made.viewer.token,
    operator: made.operator.token,
    admin: made.admin.token,
  };
  const call: Scene["call"] = (role, method, path, init = {}) =>
    fetch(`${listening.url}/api/v1${path}`, {
      method,
      headers: {
        ...(role === null ? {} : { Authorization: `Bearer ${tokens[role]}` }),
        ...(init.body === undefined ? {} : { "Content-Type": "application/json" }),
        ...init.headers,
      },
      ...(init.body === undefined
        ? {}
        : { body: typeof init.body === "string" ? init.body : JSON.stringify(init.body) }),
      ...(init.signal === undefined ? {} : { signal: init.signal }),
    });
  const as = (role: Role): HttpClient =>
    new HttpClient({ url: listening.url, token: tokens[role], retries: 0 });
  return { perdure, listening, tokens, audit, log, call, as };
}

/** The code of a problem document. */
export async function codeOf(response: Response): Promise<string> {
  const body = (await response.json()) as { readonly code?: string };
  return body.code ?? "none";
}

/** Waits until the worker waits for its event. */
export async function untilWaiting(perdure: Perdure, id: string): Promise<void> {
  for await (const info of perdure.client.get(id).watch()) {
    if (info.waitingFor.some((wait) => wait.kind === "event")) return;
  }
}
