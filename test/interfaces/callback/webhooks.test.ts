// Webhooks: a signed request starts an instance, once per event.

import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import {
  github,
  slack,
  standardWebhooks,
  stripe,
  webhook,
  type Webhook,
} from "../../../src/callback/index.ts";
import { orchestration } from "../../../src/index.ts";
import { digits } from "../../support/schemas.ts";
import { openScene, outcomeOf, type Scene } from "./support.ts";

interface Payment {
  readonly id: string;
  readonly cents: number;
}
const onPayment = orchestration("onPayment", async (_ctx, event: Payment) => event.cents);
const onPush = orchestration(
  "onPush",
  async (_ctx, push: { ref: string; delivery: string }) => push,
);
const onCommand = orchestration("onCommand", async (_ctx, form: { text: string }) => form.text);
const named = orchestration("named", async (_ctx, value: number) => value, { input: digits });
const register = [onPayment, onPush, onCommand, named];

const paid = webhook("stripe", {
  verify: stripe(["whsec_current", "whsec_previous"]),
  start: onPayment,
  id: (event) => (event.cents === 0 ? null : event.id),
});

const hex = (secret: string, text: string) =>
  createHmac("sha256", secret).update(text).digest("hex");

/** A delivery as Stripe sends it. */
function fromStripe(
  { send, perdure }: Scene,
  event: unknown,
  { secret = "whsec_current", at = perdure.provider.now() } = {},
): Promise<Response> {
  const body = JSON.stringify(event);
  const time = Math.floor(at / 1_000);
  const headers = {
    "Content-Type": "application/json; charset=utf-8",
    "Stripe-Signature": `t=${time},v1=${hex(secret, `${time}.${body}`)}`,
  };
  return send("/webhook/stripe", { method: "POST", headers, body });
}

const open = (...webhooks: readonly Webhook[]) => openScene({ register, callbacks: { webhooks } });

test("a signed event starts an instance, whose id is the name of the webhook and the id of the event", async () => {
  const scene = await open(paid);
  const response = await fromStripe(scene, { id: "evt_1", cents: 700 });
  expect(await outcomeOf(response)).toEqual([200, "started"]);
  expect(await scene.perdure.client.get("stripe:evt_1").result()).toBe(700);
});

test("S39: a repeated delivery starts nothing, also after the instance has ended, and an old one is refused", async () => {
  const scene = await open(paid);
  const event = { id: "evt_1", cents: 700 };
  const first = await Promise.all([fromStripe(scene, event), fromStripe(scene, event)]);
  expect(first.map(({ status }) => status)).toEqual([200, 200]);
  await scene.perdure.client.get("stripe:evt_1").result();
  expect((await fromStripe(scene, { ...event, cents: 9 })).status).toBe(200);
  expect(await scene.perdure.client.get("stripe:evt_1").result()).toBe(700);
  expect(await scene.perdure.client.count()).toBe(1);
  const executions = await scene.perdure.client.get("stripe:evt_1").executions();
  expect(executions).toHaveLength(1);
  for (const minutes of [-6, 6]) {
    const at = scene.perdure.provider.now() + minutes * 60_000;
    const old = await fromStripe(scene, { id: "evt_2", cents: 1 }, { at });
    expect(await outcomeOf(old)).toEqual([401, "SIGNATURE_INVALID"]);
  }
  expect(await scene.perdure.client.count()).toBe(1);
});

test("S43: a delivery signed with the previous secret starts an instance, one with another secret does not", async () => {
  const scene = await open(paid);
  const previous = { secret: "whsec_previous" };
  expect((await fromStripe(scene, { id: "a", cents: 1 }, previous)).status).toBe(200);
  const removed = await fromStripe(scene, { id: "b", cents: 1 }, { secret: "whsec_removed" });
  expect(await outcomeOf(removed)).toEqual([401, "SIGNATURE_INVALID"]);
  expect(removed.headers.get("www-authenticate")).toBe("Signature");
  expect(await scene.perdure.client.count()).toBe(1);
});

test("an event whose id is null is acknowledged and starts nothing", async () => {
  const scene = await open(paid);
  const response = await fromStripe(scene, { id: "evt_1", cents: 0 });
  expect(await outcomeOf(response)).toEqual([200, "ignored"]);
  expect(await scene.perdure.client.count()).toBe(0);
});

test("id and input receive the chosen headers in lower case, and no others", async () => {
  const seen: unknown[] = [];
  const scene = await open(
    webhook("github", {
      verify: github("push secret"),
      start: onPush,
      headers: ["X-GitHub-Delivery"],
      id: (_event, headers) => headers["x-github-delivery"] ?? null,
      input: (event: { ref: string }, headers) => {
        seen.push(headers);
        return { ref: event.ref, delivery: headers["x-github-delivery"] ?? "" };
      },
    }),
  );
  const body = '{"ref":"main"}';
  const response = await scene.send("/webhook/github", {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-GitHub-Delivery": "d-1",
      "X-Other": "x",
      "X-Hub-Signature-256": `sha256=${hex("push secret", body)}`,
    },
    body,
  });
  expect(response.status).toBe(200);
  expect(await scene.perdure.client.get("github:d-1").result()).toEqual({
    ref: "main",
    delivery: "d-1",
  });
  expect(seen).toEqual([{ "x-github-delivery": "d-1" }]);
});

test("Slack: a command is a form, and a challenge is answered without an instance", async () => {
  const scene = await open(
    webhook("slack", {
      verify: slack("signing secret"),
      start: onCommand,
      id: (form: { trigger_id: string; text: string }) => form.trigger_id,
      input: (form: { trigger_id: string; text: string }) => ({ text: form.text }),
    }),
  );
  const deliver = (body: string, type: string): Promise<Response> => {
    const time = String(Math.floor(scene.perdure.provider.now() / 1_000));
    const signature = `v0=${hex("signing secret", `v0:${time}:${body}`)}`;
    const headers = {
      "Content-Type": type,
      "X-Slack-Request-Timestamp": time,
      "X-Slack-Signature": signature,
    };
    return scene.send("/webhook/slack", { method: "POST", headers, body });
  };
  const challenge = JSON.stringify({ type: "url_verification", challenge: "c-1" });
  const answered = await deliver(challenge, "application/json");
  expect([answered.status, await answered.text()]).toEqual([200, "c-1"]);
  expect(await scene.perdure.client.count()).toBe(0);
  const form = "trigger_id=t-1&text=hello+world";
  expect((await deliver(form, "application/x-www-form-urlencoded")).status).toBe(200);
  expect(await scene.perdure.client.get("slack:t-1").result()).toBe("hello world");
});

test("Standard Webhooks: a delivery starts an instance by name", async () => {
  const key = Buffer.from("a key of standard webhooks");
  const scene = await open(
    webhook("standard", {
      verify: standardWebhooks(`whsec_${key.toString("base64")}`),
      start: "onPayment",
      headers: ["webhook-id"],
      id: (_event, headers) => headers["webhook-id"] ?? null,
    }),
  );
  const body = '{"id":"x","cents":5}';
  const time = Math.floor(scene.perdure.provider.now() / 1_000);
  const signed = createHmac("sha256", key).update(`msg_1.${time}.${body}`).digest("base64");
  const response = await scene.send("/webhook/standard", {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "webhook-id": "msg_1",
      "webhook-timestamp": String(time),
      "webhook-signature": `v1,${signed}`,
    },
    body,
  });
  expect(response.status).toBe(200);
  expect(await scene.perdure.client.get("standard:msg_1").result()).toBe(5);
});

test("a body that cannot be read is 400, an input that the schema refuses is 422, an id that no instance can have is 422", async () => {
  const scene = await open(
    webhook("open", { verify: () => true, start: named, id: () => "one" }),
    webhook("ids", { verify: () => true, start: "named", id: () => "a::b" }),
    webhook("numbers", { verify: () => true, start: "named", id: () => 7 as unknown as string }),
  );
  const json = { "Content-Type": "application/json" };
  const invalid = await scene.send("/webhook/open", { method: "POST", headers: json, body: "{" });
  expect(await outcomeOf(invalid)).toEqual([400, "BODY_INVALID"]);
  expect(await outcomeOf(await scene.post("/webhook/open", ""))).toEqual([422, "VALUE_REFUSED"]);
  expect(await outcomeOf(await scene.post("/webhook/ids", "x"))).toEqual([422, "VALUE_REFUSED"]);
  expect((await scene.post("/webhook/numbers", "x")).status).toBe(422);
  expect(await scene.perdure.client.count()).toBe(0);
  expect((await scene.post("/webhook/open", "7")).status).toBe(200);
});

test("a function of a webhook that throws is 500 without details, and the log has them", async () => {
  const broken = (): never => {
    throw new Error("the secret reason");
  };
  const scene = await open(
    webhook("verify", { verify: broken, start: "named", id: () => "a" }),
    webhook("id", { verify: () => true, start: "named", id: broken }),
  );
  for (const name of ["verify", "id"]) {
    const response = await scene.post(`/webhook/${name}`, "x");
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret reason");
  }
  expect(scene.log).toHaveLength(2);
});

test("a webhook needs a name for an address, a verifier, an orchestration and an id", () => {
  const good = { verify: () => true, start: onPayment, id: (event: Payment) => event.id };
  for (const name of ["", "a/b", "ünïcode", "a b", "x".repeat(65), "perdure.x"]) {
    expect(() => webhook(name, good)).toThrow(/name/);
  }
  expect(() => webhook("w", { ...good, verify: "no" as never })).toThrow(/verify of webhook "w"/);
  expect(() => webhook("w", { ...good, id: 1 as never })).toThrow(/id of webhook "w"/);
  expect(() => webhook("w", { ...good, start: {} } as never)).toThrow(/start of webhook "w"/);
  expect(() => webhook("w", { ...good, inputs: 1 } as never)).toThrow(/unknown option "inputs"/);
  expect(() => webhook("w", { ...good, headers: ["a b"] })).toThrow(/header names/);
});
