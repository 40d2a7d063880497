// The recipes of docs/cookbook that are jobs: debounce, batch, webhook out, limits per tenant.

import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { pageViewed, record } from "../../../examples/cookbook/batch.ts";
import { index, pageChanged } from "../../../examples/cookbook/debounce.ts";
import { exportMonth, requestExports } from "../../../examples/cookbook/tenant-limits.ts";
import { deliver, notify } from "../../../examples/cookbook/webhook-out.ts";
import { kitOf, network } from "./support.ts";

test("debounce: a burst of changes is indexed once, with the latest text", async () => {
  const sent = network({ status: 503 }, { status: 200 });
  const kit = await kitOf(index);
  for (const text of ["a", "ab", "abc"]) {
    await pageChanged(kit.client, { id: "p-1", text });
    await kit.advance("3s");
  }
  expect(sent).toEqual([]);
  await kit.advance("10s");
  expect(sent.map(({ url, body }) => [url, body])).toEqual([
    ["https://search.example/pages/p-1", "abc"],
    ["https://search.example/pages/p-1", "abc"], // the first attempt failed
  ]);
});

test("debounce: a page that changes all the time is indexed once per minute", async () => {
  const sent = network({});
  const kit = await kitOf(index);
  for (let change = 0; change < 40; change++) {
    await pageChanged(kit.client, { id: "p-1", text: `${change}` });
    await kit.advance("3s");
  }
  expect(sent).toHaveLength(2);
});

test("batch: 250 views are three requests, and a refused row fails alone", async () => {
  const sent = network({ body: [7] }, { body: [] });
  const kit = await kitOf(record);
  const handles = await Promise.all(
    Array.from({ length: 250 }, (_, n) => pageViewed(kit.client, { page: `/${n}`, user: "ada" })),
  );
  const outcomes = await Promise.allSettled(handles.map((handle) => handle.result()));
  const rows = sent.map(({ body }) => JSON.parse(body) as { readonly key: string }[]);
  expect(rows.map((batch) => batch.length)).toEqual([100, 100, 50]);
  expect(new Set(rows.flat().map(({ key }) => key)).size).toBe(250);
  expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1);
});

test("webhook out: a delivery is repeated with the same id until the endpoint accepts it", async () => {
  const sent = network({ status: 500 }, { status: 429 }, { status: 200 });
  const kit = await kitOf(deliver);
  const event = { type: "order.paid", data: { order: 7 } };
  const delivery = { endpoint: "https://customer.example/hook", secret: "s-1", event };
  const before = kit.now.getTime();
  await (await notify(kit.client, delivery)).result();
  expect(kit.now.getTime() - before).toBeGreaterThanOrEqual(64_000); // 4 s or more, and the minute of the 429
  expect(sent).toHaveLength(3);
  expect(new Set(sent.map(({ headers }) => headers.get("webhook-id"))).size).toBe(1);
  for (const { headers, body } of sent) {
    const signed = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${body}`;
    const signature = createHmac("sha256", "s-1").update(signed).digest("base64");
    expect(headers.get("webhook-signature")).toBe(`v1,${signature}`);
  }
});

test("webhook out: an endpoint that is gone is called once, and one that is down for 20 hours is reached", async () => {
  const gone = network({ status: 410 });
  const kit = await kitOf(deliver);
  const event = { type: "order.paid", data: null };
  const delivery = { endpoint: "https://customer.example/hook", secret: "s-1", event };
  await expect((await notify(kit.client, delivery)).result()).rejects.toThrow("gone");
  expect(gone).toHaveLength(1);

  const back = kit.now.getTime() + 20 * 3_600_000;
  kit.mock(deliver, () => {
    if (kit.now.getTime() < back) throw new Error("down");
  });
  await (await notify(kit.client, delivery)).result();
  expect(kit.now.getTime()).toBeGreaterThanOrEqual(back);
});

test("per-tenant limits: a tenant runs two exports at a time, and another tenant does not wait for it", async () => {
  const kit = await kitOf(exportMonth);
  let running = 0;
  let most = 0;
  const ended: string[] = [];
  kit.mock(exportMonth, async ({ tenant, month }) => {
    if (tenant === "large") most = Math.max(most, (running += 1));
    await kit.sleep("1s");
    if (tenant === "large") running -= 1;
    ended.push(tenant);
    return month;
  });
  const months = Array.from({ length: 12 }, (_, n) => `2026-${n + 1}`);
  const large = await requestExports(kit.client, "large", months);
  const [small = ""] = await requestExports(kit.client, "small", ["2026-1"]);
  await kit.client.get(small).result();
  expect(ended.filter((tenant) => tenant === "large").length).toBeLessThanOrEqual(2);
  await Promise.all(large.map((id) => kit.client.get(id).result()));
  expect(most).toBe(2);
});
