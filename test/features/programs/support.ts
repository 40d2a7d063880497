// The setup of every program: a separate store on disk with a runtime, closed after the test.

import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { Perdure, type Handle, type InstanceInfo, type OpenOptions } from "../../../src/index.ts";
import { newPlace, type Place } from "../../support/test-store.ts";

const PATIENCE_MS = 30_000;

/** A location without a store yet. */
export function newStore(): Place {
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  return place;
}

/** Opens the given store, by default a new one, with a runtime that logs nothing. */
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

/** Polls an instance until it satisfies the condition. */
export async function state(
  handle: Handle,
  isWanted: (info: InstanceInfo) => boolean,
): Promise<InstanceInfo> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const info = await handle.describe();
    if (isWanted(info)) return info;
    if (performance.now() > deadline)
      throw new Error(`instance "${handle.id}" did not reach the expected state`);
    await pause(5);
  }
}

export const isWaitingFor = (kind: string) => (info: InstanceInfo) =>
  info.waitingFor.some((wait) => wait.kind === kind);

/** The error that a promise rejects with. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  const outcome = await work.then(
    () => ({ isFailure: false, error: undefined }),
    (error: unknown) => ({ isFailure: true, error }),
  );
  if (!outcome.isFailure) throw new Error("the promise did not reject");
  return outcome.error;
}
