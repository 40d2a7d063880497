// S32: secrets that passed through every feature appear neither in the bytes of the store nor in the log.

import { expect, test } from "vitest";
import { activity, event, NonRetryableError, orchestration } from "../../../src/index.ts";
import { digits } from "../../support/schemas.ts";
import { first, untilWaiting, Vault } from "./support.ts";

const secrets: string[] = [];
/** A new secret per call, of characters that JSON does not escape. */
function canary(place: string): string {
  const secret = `canary-${place}-${crypto.randomUUID()}`;
  secrets.push(secret);
  return secret;
}

const go = event<string>("go");
const work = activity(
  "work",
  async (input: string, context) => {
    context.heartbeat({ details: canary("heartbeat") });
    context.progress(canary("progress"));
    if (context.attempt === 1) throw new Error(canary("attempt"), { cause: canary("cause") });
    return `${input} ${canary("output")}`;
  },
  { retry: { maxAttempts: 2, backoff: { kind: "none" } } },
);
const breaks = activity("breaks", async () => {
  throw Object.assign(new NonRetryableError(canary("message")), { data: canary("data") });
});
const throwsText = activity(
  "throws-text",
  async () => {
    throw canary("thrown");
  },
  { retry: { maxAttempts: 1 } },
);
const child = orchestration("child", async (_ctx, input: string) => {
  throw new AggregateError([new Error(canary("member"))], `${input} ${canary("child")}`);
});
const all = orchestration("all", async (ctx, input: { secret: string; round: number }) => {
  ctx.setStatus(canary("status"));
  ctx.kv.set("key", canary("state"));
  await ctx.run(work, input.secret);
  await ctx.step("step", () => canary("step"));
  await ctx
    .step("failing", () => {
      throw new Error(canary("step-failure"));
    })
    .catch(() => undefined);
  await ctx.run(breaks).catch(() => undefined);
  await ctx.run(throwsText).catch(() => undefined);
  await ctx.call(child, input.secret).catch(() => undefined);
  if (input.round === 1) return ctx.continueAsNew({ secret: canary("continued"), round: 2 });
  const said = await ctx.waitFor(go, { details: canary("asked") });
  ctx.compensate(() => {
    throw new Error(canary("compensation"));
  });
  throw new Error(`${said} ${canary("end")}`);
});

/** The messages of its issues quote the value, as those of many schemas do. */
const checked = orchestration("checked", async (ctx) => ctx.waitFor(event("checked", digits)), {
  input: digits,
});

test("S32: the store's bytes and the log contain no canary", async () => {
  const vault = new Vault();
  const perdure = await vault.open({
    codec: first,
    register: [all, child, work, breaks, throwsText, checked],
  });
  const input = { secret: canary("input"), round: 1 };
  const handle = await perdure.client.start(all, input, {
    id: "c",
    events: [{ name: "early", data: canary("early") }],
  });
  await untilWaiting(perdure, "c");
  await handle.raise(go, canary("event"));
  await expect(handle.result({ timeout: "30s" })).rejects.toThrow(/canary-end/);
  const refused = await perdure.client.start("checked", canary("refused-input"));
  await expect(refused.result({ timeout: "30s" })).rejects.toThrow(/canary-refused-input/);
  const waiting = await perdure.client.start("checked", "1", { id: "checked" });
  await untilWaiting(perdure, "checked");
  await waiting.raise("checked", canary("refused-event"));
  await expect
    .poll(async () => (await waiting.unread()).items[0]?.refused?.message)
    .toMatch(/canary-refused-event/);
  const bytes = vault.bytes();
  expect(bytes.includes("enc2.k1.")).toBe(true);
  expect(secrets.length).toBeGreaterThanOrEqual(25);
  expect(secrets.filter((secret) => bytes.includes(secret))).toEqual([]);
  const log = vault.log.join("\n");
  expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
  expect(bytes.includes("canaries.test.ts")).toBe(false); // stacks are absent too
  await perdure.close();
  expect(secrets.filter((secret) => vault.bytes().includes(secret))).toEqual([]);
});
