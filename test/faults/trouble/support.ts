// What every trouble test needs: a store, a runtime, a client, and the logged lines.
//   - Everything created here is closed when its test ends, in whatever state the test left it.
//   - No test sleeps for a fixed time: it waits for a condition, with a deadline, or it advances a virtual clock.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  Client,
  isPerdureError,
  type PerdureError,
  Runtime,
  type LogLevel,
  type LogSink,
  type Provider,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { StoreEnvironment } from "../../support/store-environment.ts";
import { freshStore } from "../../support/test-store.ts";

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}
export interface Logs {
  readonly lines: readonly LogLine[];
  readonly sink: LogSink;
  /** Lines whose message or fields contain the text. */
  about(text: string): readonly LogLine[];
}

export function collectLogs(): Logs {
  const lines: LogLine[] = [];
  return {
    lines,
    sink: (level, message, fields) => void lines.push({ level, message, fields }),
    about: (text) =>
      lines.filter(({ message, fields }) => `${message} ${showFields(fields)}`.includes(text)),
  };
}

function showFields(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(" ");
}

export type Register = ConstructorParameters<typeof Runtime>[1]["register"];

/** A runtime that is shut down when its test ends. */
export async function startRuntime(
  provider: Provider,
  register: Register,
  options: RuntimeOptions = {},
): Promise<Runtime> {
  // Tests count what their orchestrations do; a shadow replay would repeat it.
  const quiet: RuntimeOptions = { log: () => undefined, shadowReplay: "never" };
  const runtime = new Runtime(provider, { ...quiet, ...options, register });
  onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
  await runtime.start();
  return runtime;
}

/** A store on a virtual clock. */
export async function virtualStore() {
  const environment = new StoreEnvironment();
  const provider = await freshStore(environment);
  return { environment, provider, client: new Client(provider) };
}

/** A store on a virtual clock, with a runtime. */
export async function virtualWorld(register: Register, options: RuntimeOptions = {}) {
  const logs = collectLogs();
  const store = await virtualStore();
  const runtime = await startRuntime(store.provider, register, { log: logs.sink, ...options });
  return { ...store, runtime, logs };
}

/** A folder that is deleted when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "perdure-trouble-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A SQLite store in a file, on the real clock. */
export async function fileStore(path = join(temporaryFolder(), "store.db")) {
  const provider = await SqliteProvider.open(path);
  onTestFinished(() => provider.close());
  return { path, provider, client: new Client(provider) };
}

/** A store on the real clock, in memory where possible, so that no disk slows the test. */
export async function memoryStore() {
  const provider = await freshStore();
  return { provider, client: new Client(provider) };
}

/** Waits until the condition holds, on the real clock; the error at the deadline names `what`. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 30_000,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Timed out waiting until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The PerdureError that a promise rejects with; the test fails on any other outcome. */
export async function refusalOf(work: Promise<unknown> | (() => unknown)): Promise<PerdureError> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    if (isPerdureError(error)) return error;
    throw new Error("The rejection is not a PerdureError.", { cause: error });
  }
  throw new Error("The call was not refused.");
}

/** Whether none of the promises has settled yet. */
export async function areOpen(...promises: readonly Promise<unknown>[]): Promise<boolean> {
  const open = Symbol("open");
  return (await Promise.race([...promises, Promise.resolve(open)])) === open;
}

/** A promise and the function that settles it: tests and handlers use it to synchronize. */
export function signal<T = void>() {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return { reached: promise, reach: resolve, fail: reject };
}
