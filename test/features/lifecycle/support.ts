// A store, a runtime and a client that are closed after the test, and orchestrations shared by the tests.

import { onTestFinished } from "vitest";
import {
  activity,
  event,
  orchestration,
  Perdure,
  type Orchestration,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { freshStore } from "../../support/test-store.ts";

export const go = event<string>("go");

export const double = activity("double", async (value: number) => value * 2);

/** Sets its status, a key and an attribute, waits for `go`, and returns the doubled value and the event data. */
export const worker = orchestration("worker", async (ctx, value: number) => {
  ctx.setStatus({ phase: "doubling" });
  const doubled = await ctx.run(double, value);
  ctx.kv.set("doubled", doubled);
  ctx.setAttributes({ customer: `c-${value}` });
  ctx.setStatus({ phase: "waiting" });
  const word = await ctx.waitFor(go);
  ctx.setStatus(null);
  return { doubled, word };
});

export async function open(
  register: readonly Orchestration<never, unknown>[] = [],
  runtime: RuntimeOptions = {},
): Promise<Perdure> {
  const perdure = await Perdure.open(await freshStore(), {
    register: [worker, double, ...register],
    runtime: { log: () => undefined, shadowReplay: "always", ...runtime },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

/** Waits until the instance waits for an event. */
export async function untilWaiting(perdure: Perdure, id: string): Promise<void> {
  for await (const info of perdure.client.get(id).watch()) {
    if (info.waitingFor.some((wait) => wait.kind === "event")) return;
  }
}

/** Waits until the instance has called a child. */
export async function untilChild(perdure: Perdure, id: string): Promise<void> {
  for await (const info of perdure.client.get(id).watch()) {
    if (info.waitingFor.some((wait) => wait.kind === "child")) return;
  }
}
