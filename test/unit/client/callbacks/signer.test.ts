// The signer: it waits for the store's id, and its addresses carry tokens of the current secret.

import { expect, test } from "vitest";
import { CallbackSchemas } from "../../../../src/client/callbacks/schemas.ts";
import { addressOf, Signer } from "../../../../src/client/callbacks/signer.ts";
import { readToken } from "../../../../src/client/callbacks/token.ts";
import type { CallbackCall } from "../../../../src/core/define/callback.ts";
import { PerdureError } from "../../../../src/core/errors/errors.ts";
import type { Provider } from "../../../../src/core/provider/provider.ts";

const SECRETS = ["a".repeat(32), "b".repeat(32)];
const SETTINGS = { secrets: SECRETS, baseUrl: "https://example.com/callbacks" };
const CALL: CallbackCall = {
  kind: "callback",
  instanceId: "order-1",
  runId: "a".repeat(32),
  execution: 1,
  sequence: 2,
  attempt: 0,
  orchestration: "order",
  name: "paid",
  expiresAt: 0,
  isChecked: true,
};

/** A store that answers with the next of these ids or errors. */
function storeWith(...answers: (string | Error)[]) {
  const waited: number[] = [];
  const provider = {
    environment: {
      random: () => 0,
      setTimer: (delayMs: number, work: () => void) => (waited.push(delayMs), work()),
    },
    storeId: async () => {
      const next = answers.shift();
      if (typeof next === "string") return next;
      throw next ?? new Error("asked too often");
    },
  } as unknown as Provider;
  return { provider, waited };
}
const away = () => new PerdureError("STORE_UNAVAILABLE", "away");

test("an address has a token that says what the call is, signed with the first secret", async () => {
  const { provider } = storeWith("store-1");
  const signer = new Signer(provider, SETTINGS);
  await signer.open();
  await signer.open(); // the id is known
  const { url, token } = signer.sign(CALL);
  expect(url).toBe(`https://example.com/callbacks/${token}`);
  const [current, previous] = SECRETS.map((secret) => Buffer.from(secret)) as [Buffer, Buffer];
  expect(readToken(token, [current])).toEqual({ ...CALL, storeId: "store-1" });
  expect(() => readToken(token, [previous])).toThrow("not valid");
});

test("while the store is unavailable, the signer tries again with growing pauses", async () => {
  const { provider, waited } = storeWith(away(), away(), away(), "store-1");
  const signer = new Signer(provider, SETTINGS);
  await signer.open();
  expect(waited).toEqual([100, 200, 400]);
  expect(signer.sign(CALL).token).toMatch(/^v1\./);
});

test("another error of the store is raised, and is not retried", async () => {
  const { provider, waited } = storeWith(new Error("broken"), "store-1");
  await expect(new Signer(provider, SETTINGS).open()).rejects.toThrow("broken");
  expect(waited).toEqual([]);
});

test("a signer that is not open, or has no secret, signs nothing", () => {
  const { provider } = storeWith();
  expect(() => new Signer(provider, SETTINGS).sign(CALL)).toThrow("not open");
  const settings = { secrets: [], baseUrl: "https://example.com" };
  expect(() => addressOf(CALL, settings, "store-1")).toThrow("not open");
  const one = { ...settings, secrets: [Buffer.from("a".repeat(32))] };
  expect(() => addressOf(CALL, one, null)).toThrow("not open");
});

test("a schema that the code uses is known to all clients of the store in this process", () => {
  const { provider } = storeWith();
  const schema = {} as never;
  new Signer(provider, SETTINGS).learn("order", "paid", schema);
  expect(CallbackSchemas.of(provider).find("order", "paid")).toBe(schema);
  expect(CallbackSchemas.of(provider).find("order", "other")).toBeUndefined();
});
