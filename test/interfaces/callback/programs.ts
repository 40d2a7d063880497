// Orchestrations that wait for calls from outside.

import { vi } from "vitest";
import { activity, orchestration, type Perdure } from "../../../src/index.ts";
import { digits } from "../../support/schemas.ts";
import type { Scene } from "./support.ts";

/** Publishes the address of its callback and returns the value and the headers. */
export const waits = orchestration("waits", async (ctx) => {
  const answer = ctx.callback("answer");
  ctx.kv.set("url", answer.url);
  const value = await answer;
  return { value, ...(answer.headers === undefined ? {} : { headers: answer.headers }) };
});

/** Waits for digits, forever. */
export const checked = orchestration("checked", async (ctx) => {
  const answer = ctx.callback("digits", { schema: digits });
  ctx.kv.set("url", answer.url);
  return await answer;
});

/** Returns null after a short time without a call, then waits for the event "end". */
export const hurried = orchestration("hurried", async (ctx, timeout: number) => {
  const answer = ctx.callback("answer", { timeout });
  ctx.kv.set("url", answer.url);
  const value = await answer;
  ctx.kv.set("value", value ?? "none");
  await ctx.waitFor("end");
  return value;
});

/** The addresses that the attempts of `render` passed on, by the id of their instance. */
const submitted = new Map<string, string[]>();
/** Passes its address on and completes later. */
export const render = activity("render", async (_film: string, { completeLater, info }) => {
  const addresses = submitted.get(info.instanceId) ?? [];
  submitted.set(info.instanceId, [...addresses, completeLater().url]);
});
export const rendering = orchestration("rendering", (ctx, film: string) =>
  ctx.run(render, film, { attempts: 2 }),
);

export const register = [waits, checked, hurried, render, rendering];

/** Starts an instance and returns the address of its callback. */
export async function addressOf(
  { perdure }: Scene,
  program: "waits" | "checked" | "hurried",
  id: string,
  input?: unknown,
): Promise<string> {
  await perdure.client.start(program, input, { id });
  return kvText(perdure, id, "url");
}

export async function kvText({ client }: Perdure, id: string, key: string): Promise<string> {
  return String(await client.get(id).kv.waitFor(key));
}

/** The address of an attempt of an instance of `rendering`. */
export async function attemptAddress(id: string, attempt: number): Promise<string> {
  return vi.waitUntil(() => submitted.get(id)?.[attempt - 1], { timeout: 30_000, interval: 5 });
}
