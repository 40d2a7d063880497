// Requests on an encrypted store: inputs, answers and refusals are encrypted, and work as without encryption.

import { expect, test } from "vitest";
import { orchestration, request } from "../../../src/index.ts";
import { first, Vault } from "./support.ts";

const secrets: string[] = [];
/** A new secret per call, of characters that JSON does not escape. */
function canary(place: string): string {
  const secret = `canary-${place}-${crypto.randomUUID()}`;
  secrets.push(secret);
  return secret;
}

const say = request<{ text: string; how: string }, string>("say");
const relay = request<string, string>("relay");

const server = orchestration("server", async (ctx) => {
  for await (const call of ctx.requests(say)) {
    const { text, how } = call.input;
    if (how === "refuse") call.refuse(new RangeError(`${text} ${canary("refusal")}`));
    else if (how === "leave") await ctx.waitFor("never");
    else call.answer(`${text} ${canary("answer")}`);
  }
});
const failing = orchestration("failing", async (ctx) => {
  void ctx.serve(say, async ({ text }) => {
    throw Object.assign(new TypeError(`${text} ${canary("failure")}`), { extra: canary("extra") });
  });
  await ctx.waitFor("never");
});
const between = orchestration("between", async (ctx) => {
  for await (const call of ctx.requests(relay)) {
    call.answer(await ctx.ask("server", say, { text: call.input, how: "answer" }));
  }
});

test("S32: the store's bytes and the log contain no input, answer or refusal of a request", async () => {
  const vault = new Vault();
  const register = [server, failing, between];
  const perdure = await vault.open({ codec: first, register });
  const { client } = perdure;
  for (const each of register) await client.start(each, undefined, { id: each.name });
  const answered = { text: canary("input"), how: "answer" };
  const ask = (): Promise<string> => client.get("server").ask(say, answered, { requestId: "r1" });
  const answer = await ask();
  expect(answer).toMatch(/^canary-input-\S+ canary-answer-/);
  expect(await ask()).toBe(answer);
  const refused = { text: canary("refused"), how: "refuse" };
  await expect(client.get("server").ask(say, refused)).rejects.toMatchObject({
    code: "REQUEST_REFUSED",
    message: expect.stringMatching(/^canary-refused-\S+ canary-refusal-/) as string,
    cause: { name: "RangeError" },
  });
  await expect(
    client.get("failing").ask(say, { text: canary("failed"), how: "" }),
  ).rejects.toMatchObject({
    kind: "failed",
    cause: { extra: expect.stringMatching(/^canary-extra-/) as string },
  });
  expect(await client.get("between").ask(relay, canary("relayed"))).toMatch(/^canary-relayed-/);
  const open = { text: canary("open"), how: "leave" };
  await expect(client.get("server").ask(say, open, { timeout: 50 })).rejects.toMatchObject({
    code: "TIMEOUT",
  });
  await client.get("between").pause();
  const unread = canary("unread");
  await client
    .get("between")
    .ask(relay, unread, { timeout: 0, requestId: "r2" })
    .catch(() => undefined);
  expect((await client.get("between").unread()).items).toEqual([
    { name: "relay", data: unread, requestId: "r2" },
  ]);
  expect(secrets.length).toBeGreaterThanOrEqual(10);
  const bytes = vault.bytes();
  expect(bytes.includes("enc2.k1.")).toBe(true);
  expect(secrets.filter((secret) => bytes.includes(secret))).toEqual([]);
  const log = vault.log.join("\n");
  expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
  await perdure.close();
  expect(secrets.filter((secret) => vault.bytes().includes(secret))).toEqual([]);

  // Another process reads the answer from the store.
  const again = await vault.open({ codec: first, register });
  expect(await again.client.get("server").ask(say, answered, { requestId: "r1" })).toBe(answer);
  await again.close();
});
