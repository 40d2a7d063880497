// What every program begins with: a store of its own on disk, opened with a runtime, and closed with the test.

import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { Perdure, type Handle, type InstanceInfo, type OpenOptions } from "../../src/index.ts";
import { newPlace, type Place } from "../support/test-store.ts";

const PATIENCE_MS = 30_000;

/** A place with no store in it yet. */
export function newStore(): Place {
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  return place;
}

/** Opens a store, a new one unless another is named; log lines are kept to oneself. */
export async function open(
  register: OpenOptions["register"],
  options: Omit<OpenOptions, "register"> & { readonly store?: Place } = {},
): Promise<Perdure> {
  const { store = newStore(), runtime, ...rest } = options;
  const provider = await store.open();
  onTestFinished(() => provider.close());
  const perdure = await Perdure.open(provider, {
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
