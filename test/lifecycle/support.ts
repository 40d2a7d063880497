// A store, a runtime and a client, closed with the test; and orchestrations the tests share.

import { onTestFinished } from "vitest";
import {
  activity,
  event,
  orchestration,
  Perdure,
  type Orchestration,
  type RuntimeOptions,
} from "../../src/index.ts";
import { freshStore } from "../support/test-store.ts";

export const go = event<string>("go");

export const double = activity("double", async (value: number) => value * 2);

/** Says what it does, waits to be told to go on, and returns what it knows of itself. */
export const worker = orchestration("worker", async (ctx, value: number) => {
  ctx.setStatus({ phase: "doubling" });
  const doubled = await ctx.run(double, value);
  ctx.kv.set("doubled", doubled);
  ctx.setAttributes({ customer: `c-${value}` });
  ctx.setStatus({ phase: "waiting" });
  const word = await ctx.event(go);
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

/** Waits until the worker waits for its event. */
export async function untilWaiting(perdure: Perdure, id: string): Promise<void> {
  for await (const info of perdure.client.get(id).watch()) {
    if (info.waitingFor.some((wait) => wait.kind === "event")) return;
  }
}

/** Waits until the instance has called a child, which exists from then on. */
export async function untilChild(perdure: Perdure, id: string): Promise<void> {
  for await (const info of perdure.client.get(id).watch()) {
    if (info.waitingFor.some((wait) => wait.kind === "child")) return;
  }
}
