// What every program begins with: a SQLite file of its own, opened as users open one, and closed with the test.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { Perdure, type Handle, type InstanceInfo, type OpenOptions } from "../../src/index.ts";

const PATIENCE_MS = 30_000;

/** The path of a store that is not there yet. */
export function newStore(): string {
  const folder = mkdtempSync(join(tmpdir(), "perdure-program-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "store.db");
}

/** Opens a store, a new one unless another is named; log lines are kept to oneself. */
export async function open(
  register: OpenOptions["register"],
  options: Omit<OpenOptions, "register"> & { readonly store?: string } = {},
): Promise<Perdure> {
  const { store = newStore(), runtime, ...rest } = options;
  const perdure = await Perdure.open(`sqlite:${store}`, {
    ...rest,
    ...(register === undefined ? {} : { register }),
    runtime: { log: () => undefined, ...runtime },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

/** Waits until an instance is as wanted, by asking it. */
export async function state(
  handle: Handle,
  isWanted: (info: InstanceInfo) => boolean,
): Promise<InstanceInfo> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const info = await handle.describe();
    if (isWanted(info)) return info;
    if (performance.now() > deadline) throw new Error(`"${handle.id}" never was as wanted.`);
    await pause(5);
  }
}

export const isWaitingFor = (kind: string) => (info: InstanceInfo) =>
  info.waitingFor.some((wait) => wait.kind === kind);

/** What a promise rejects with. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  const outcome = await work.then(
    () => ({ isFailure: false, error: undefined }),
    (error: unknown) => ({ isFailure: true, error }),
  );
  if (!outcome.isFailure) throw new Error("It did not fail.");
  return outcome.error;
}
