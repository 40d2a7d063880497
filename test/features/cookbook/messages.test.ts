// The recipes of docs/cookbook that receive messages: webhook in, approval links, entity, request and response, idempotent
// consumer.

import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { approve, decision, mail } from "../../../examples/cookbook/approval-links.ts";
import { stock } from "../../../examples/cookbook/entity.ts";
import { charge, onMessage, settle } from "../../../examples/cookbook/idempotent-consumer.ts";
import { auction, placeBid } from "../../../examples/cookbook/request-response.ts";
import { credit, onPayment, receiver } from "../../../examples/cookbook/webhook-in.ts";
import { callbacks } from "../../../src/callback/index.ts";
import { kitOf, network } from "./support.ts";

test("webhook in: an event that is delivered twice is credited once, and a forged one is refused", async () => {
  const kit = await kitOf(onPayment, credit);
  const app = receiver(kit.client, "whsec_test");
  const object = { customer: "c-1", amount: 500 };
  const body = JSON.stringify({ id: "evt_1", type: "charge.succeeded", data: { object } });
  const deliver = (secret: string) => {
    const time = Math.floor(kit.now.getTime() / 1_000);
    const signature = createHmac("sha256", secret).update(`${time}.${body}`).digest("hex");
    const headers = {
      "content-type": "application/json",
      "stripe-signature": `t=${time},v1=${signature}`,
    };
    return app.request("/webhook/stripe", { method: "POST", body, headers });
  };
  expect((await deliver("whsec_other")).status).toBe(401);
  expect((await deliver("whsec_test")).status).toBe(200);
  expect(await kit.client.get("stripe:evt_1").result()).toBe("c-1 + 500");
  expect((await deliver("whsec_test")).status).toBe(200);
  await kit.settle();
  expect(kit.calls(credit)).toHaveLength(1);
});

test("approval links: a link opens a page, its button decides, and the reminder is not sent", async () => {
  const kit = await kitOf(approve, mail);
  kit.mock(mail, () => undefined);
  const app = callbacks(kit.client, { callbacks: [decision] });
  const handle = await kit.start(approve, { what: "a chair", approver: "ada" });
  await kit.settle();
  const link = /approve: https:\/\/callbacks\.test(\S+)/.exec(kit.calls(mail)[0]?.input.text ?? "");
  const path = link?.[1] ?? "";

  const page = await app.request(path);
  expect(await page.text()).toContain("<button");
  expect(await kit.waitingFor(handle)).toContainEqual(
    expect.objectContaining({ kind: "callback" }),
  );
  const press = (choice: string) =>
    app.request(path.replace(/\?.*/, ""), {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: `decision=${choice}`,
    });
  expect((await press("perhaps")).status).toBe(422);
  expect((await press("approve")).status).toBe(200);
  expect(await handle.result()).toBe("approve");
  expect(kit.calls(mail)).toHaveLength(1);
});

test("approval links: without an answer there is a reminder, and then the link expires", async () => {
  const kit = await kitOf(approve, mail);
  kit.mock(mail, () => undefined);
  const handle = await kit.start(approve, { what: "a chair", approver: "ada" });
  expect(await handle.result()).toBe("expired");
  expect(kit.calls(mail).map(({ input }) => input.text.startsWith("Reminder"))).toEqual([
    false,
    true,
  ]);
});

test("entity: ten orders at once cannot reserve more than there is", async () => {
  const kit = await kitOf(stock);
  const tea = kit.client.entity(stock, "tea");
  await tea.receive(7);
  const orders = Array.from({ length: 10 }, (_, n) => ({ order: `o-${n}`, pieces: 2 }));
  const outcomes = await Promise.allSettled(orders.map((order) => tea.reserve(order)));
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  expect(await tea.free()).toBe(1);
  await tea.reserve({ order: "o-0", pieces: 2 }); // repeated: no effect
  await tea.release("o-0");
  expect(await tea.free()).toBe(3);
});

test("request and response: a bid is answered or refused, a repeated click counts once, the best bid wins", async () => {
  const kit = await kitOf(auction);
  const handle = await kit.client.start(auction, 100, { id: "auction-1" });
  const bid = (by: string, cents: number, click: string) =>
    placeBid(kit.client, "auction-1", { by, cents }, click);
  expect(await bid("ada", 150, "click-1")).toBe("ada leads with 150");
  expect(await bid("ada", 150, "click-1")).toBe("ada leads with 150");
  await expect(bid("grace", 150, "click-2")).rejects.toThrow("bid at least 151");
  expect(await bid("grace", 200, "click-3")).toBe("grace leads with 200");
  expect(await handle.result()).toEqual({ by: "grace", cents: 200 });
});

test("idempotent consumer: a message that is delivered three times is charged once, also after a crash", async () => {
  const sent = network({ status: 500 }, { status: 200 });
  const kit = await kitOf(settle, charge);
  const message = { id: "m-1", body: { account: "a-1", cents: 500 } };
  await onMessage(kit.client, message);
  await onMessage(kit.client, message);
  await kit.client.get("settle:m-1").result();
  await kit.crash();
  await onMessage(kit.client, message);
  await kit.settle();
  expect(kit.calls(charge).map(({ outcome }) => outcome?.kind)).toEqual(["error", "value"]);
  expect(new Set(sent.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(1);
});
