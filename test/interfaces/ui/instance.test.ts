// The page of an instance, with everything that can happen to one.

import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { Locator, Page } from "playwright-core";
import { encryptingCodec } from "../../../src/encryption/index.ts";
import { orchestration, Perdure } from "../../../src/index.ts";
import { useScene } from "./support/scene.ts";
import { approval, checkout, fulfil, go, keeper, payout, rounds, stepper } from "./support/shop.ts";
import { block, until, waitsForEvent, type World } from "./support/world.ts";

const order = { id: "o-1", customer: "c-7", lines: ["chair", "table"], refusals: 1 };

const scene = useScene({}, async (world) => {
  const { client } = world.perdure;
  await block(world);
  const done = await client.start(fulfil, order, { id: "order-1", events: [] });
  await until(world.perdure, "order-1", waitsForEvent);
  await done.raise(approval, { by: "ada" });
  await done.result();
  await client.start(fulfil, order, { id: "order-2" });
  await until(world.perdure, "order-2", waitsForEvent);
  const failed = await client.start(payout, "DE89", { id: "payout-1" });
  await failed.result().catch(() => undefined);
  await client.start(stepper, 60, { id: "many-1" });
  await until(world.perdure, "many-1", waitsForEvent);
  await writeSealed(world);
});

/** Writes "sealed-1", an instance whose values the dashboard has no key for. */
async function writeSealed({ perdure }: World): Promise<void> {
  const codec = encryptingCodec({ keys: { "key-7": randomBytes(32) }, current: "key-7" });
  const sealed = orchestration("sealed", async (ctx) => {
    ctx.setStatus("a secret status"); // lists show the status, not the output
    return "a secret";
  });
  await using other = await Perdure.open(perdure.provider, {
    register: [sealed],
    runtime: { codec, log: () => undefined },
  });
  await (await other.client.start(sealed, undefined, { id: "sealed-1" })).result();
}

test("the header shows the orchestration, the status and the attributes", async () => {
  const { page, troubles } = await scene.show("/instances/order-1");
  await page.getByRole("heading", { level: 1, name: "order-1" }).waitFor();
  const head = page.locator(".instance-head");
  expect(await head.locator(".badge").textContent()).toBe("completed");
  const facts = await head.locator(".facts > div").allTextContents();
  expect(facts.map((fact) => fact.replace(/(\d|just now).*$/, ""))).toEqual([
    "Orchestrationfulfil ",
    "Created",
    "Updated",
    "Duration",
    "Execution",
    "Priority",
  ]);
  await head.getByText("customer=c-7").waitFor();
  expect(troubles).toEqual([]);
});

test("the timeline draws activities with their attempts, waits, timers and children", async () => {
  const { page, troubles } = await scene.show("/instances/order-1");
  const names = page.getByRole("region", { name: /^Timeline/ }).locator("button.gantt-name");
  await expect.poll(() => names.count()).toBe(6);
  const labels = await names.evaluateAll((all) =>
    all.map((one) => (one.getAttribute("aria-label") ?? "").replaceAll(/<?[\d.]+ m?s/g, "T")),
  );
  expect(labels).toEqual([
    "charge, completed, T, ran T, T before the last attempt, 2 attempts",
    "approval, completed, T",
    "sleep, cancelled, T",
    "ship, completed, T, ran T, T queued",
    "ship, completed, T, ran T, T queued",
    "invoice, completed, T",
  ]);
  await names.first().click();
  const detail = page.getByRole("region", { name: "activity charge" });
  await detail.getByText("Attempts").first().waitFor();
  await detail.getByText('"r-o-1"').waitFor();
  expect(page.url()).toContain("span=4");
  expect(troubles).toEqual([]);
});

test("the timeline is searched, shows what is open, and jumps to now", async () => {
  const { page, troubles } = await scene.show("/instances/many-1");
  const region = page.getByRole("region", { name: /^Timeline/ });
  const names = region.getByRole("button");
  await region
    .getByRole("button", { name: /^keep, completed/ })
    .first()
    .waitFor();
  const top = (): Promise<unknown> => region.evaluate((element) => element.scrollTop);
  expect(await top()).toBe(0);
  await page.getByRole("button", { name: "Jump to now" }).click();
  await region.getByRole("button", { name: /^go, open/ }).waitFor();
  expect(await top()).toBeGreaterThan(0);
  await page.getByLabel("Search the timeline").fill("KEEP-41");
  await expect.poll(() => names.count()).toBe(1);
  expect(page.url()).toContain("q=KEEP-41");
  await page.getByLabel("Search the timeline").fill("unheard of");
  await region.getByText("Nothing matches.").waitFor();
  await page.getByLabel("Search the timeline").fill("");
  await page.getByLabel("Open only").check();
  await expect.poll(() => names.count()).toBe(2);
  await page.reload();
  await expect.poll(() => names.count()).toBe(2);
  expect(await page.getByLabel("Open only").isChecked()).toBe(true);
  expect(troubles).toEqual([]);

  const ended = (await scene.show("/instances/order-1")).page;
  await ended.getByLabel("Open only").check();
  await ended.getByText("Nothing matches.").waitFor();
  expect(await ended.getByRole("button", { name: "Jump to now" }).count()).toBe(0);
});

test("the timeline zooms by button and key, moves, and shows the whole time again", async () => {
  const { page } = await scene.show("/instances/order-1");
  const region = page.getByRole("region", { name: /^Timeline/ });
  const ticks = (): Promise<string[]> => region.locator(".tick").allTextContents();
  await expect.poll(async () => (await ticks()).length).toBeGreaterThan(1);
  const whole = await ticks();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await expect.poll(ticks).not.toEqual(whole);
  const zoomed = await ticks();
  await region.focus();
  await page.keyboard.press("ArrowRight");
  await expect.poll(ticks).not.toEqual(zoomed);
  await page.keyboard.press("0");
  await expect.poll(ticks).toEqual(whole);
  await page.keyboard.press("+");
  await expect.poll(ticks).not.toEqual(whole);
  await page.getByRole("button", { name: "Fit" }).click();
  await expect.poll(ticks).toEqual(whole);
});

test("the cursor shows the state at a moment, also by keyboard", async () => {
  const { page } = await scene.show("/instances/order-1");
  const cursor = page.getByLabel("Cursor");
  await cursor.focus();
  await page.keyboard.press("Home");
  const state = page.locator(".moment-state");
  await state.getByText(/^\+0 ms .*: 0 spans completed, 1 open; last: Status set/).waitFor();
  await state.getByText('Custom status: {phase: "charging"}').waitFor();
  await state.getByRole("button", { name: "charge" }).waitFor();
  await page.keyboard.press("End");
  await state.getByText(/: 5 spans completed, 1 cancelled, 0 open/).waitFor();
  await state.getByText('Custom status: {phase: "shipping", approvedBy: "ada"}').waitFor();
  await page.getByRole("button", { name: "Remove the cursor" }).click();
  await page.getByText("Move the cursor").waitFor();
});

test("the history lists events, opens them with their payloads, and searches", async () => {
  const { page, troubles } = await scene.show("/instances/order-1?tab=history");
  const rows = page.getByRole("listitem");
  await page.getByText("Orchestration started").waitFor();
  await rows.filter({ hasText: "charge · of event 4 · 2 attempts" }).getByRole("button").click();
  await page.getByRole("heading", { name: "Activity completed event 5" }).waitFor();
  await page.getByText("Date 1970-01-01T00:00:00.000Z").first().waitFor();
  expect(page.url()).toContain("event=5");
  await page.getByLabel("Search in events and payloads").fill("parcel of table");
  await page.getByText("2 events found").waitFor();
  expect(await rows.locator(".event-kind").allTextContents()).toEqual([
    "Activity completed",
    "Orchestration completed",
  ]);
  await page.getByLabel("Search in events and payloads").fill("");
  await page.getByLabel("Kind").selectOption("timers");
  await page.getByText("2 events found").waitFor();
  expect(await rows.locator(".event-kind").allTextContents()).toEqual([
    "Timer created",
    "Timer cancelled",
  ]);
  await page.getByLabel("Kind").selectOption("children");
  await page.getByText("2 events found").waitFor();
  expect(troubles).toEqual([]);
});

test("an address with an event number opens that event", async () => {
  const { page } = await scene.show("/instances/order-1?tab=history&event=10");
  await page.getByRole("heading", { name: "Event received event 10" }).waitFor();
  await page.locator(".event-open").getByText('"ada"').waitFor();
});

test("payloads are copied unchanged", async () => {
  const { page } = await scene.show("/instances/order-1?tab=payload");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy the input" }).click();
  await page.getByText("Copied").waitFor({ state: "attached" });
  const copied = await page.evaluate("navigator.clipboard.readText()");
  expect(JSON.parse(String(copied))).toEqual(order);
  await page.getByText('"shipped"').waitFor();
});

test("the page shows what the instance waits for, and its stored state", async () => {
  const { page, troubles } = await scene.show("/instances/order-2?tab=state");
  const waits = page.getByRole("region", { name: "Waiting for" });
  await waits.getByText("event approval").waitFor();
  await waits.getByText(/a timer, due in 48 h/).waitFor();
  const part = (name: string): Locator => page.getByRole("region", { name });
  await part("Custom status").getByText('"waiting for approval"').waitFor();
  await part("Key-values").getByText("receipt").first().waitFor();
  await part("Attributes").getByText("c-7").waitFor();
  await part("Unread events").getByText("No unread events.").waitFor();
  expect(troubles).toEqual([]);
});

test("every exact type of the codec is shown with its type", async () => {
  const value = {
    big: 12345678901234567890n,
    date: new Date(0),
    map: new Map<unknown, unknown>([[{ key: 1 }, new Set(["a"])]]),
    bytes: new Uint8Array([1, 2, 3]),
    nothing: undefined,
    not: NaN,
    pattern: /a+/gi,
    url: new URL("https://example.com/a"),
    looks: { $perdure: "not a marker" },
  };
  await scene.world.perdure.client.start(keeper, value, { id: "types" });
  await until(scene.world.perdure, "types", waitsForEvent);
  const { page } = await scene.show("/instances/types?tab=state");
  const status = page.getByRole("region", { name: "Custom status" });
  const shown = (await status.locator(".value").textContent()) ?? "";
  for (const text of [
    "big: 12345678901234567890n",
    "date: Date 1970-01-01T00:00:00.000Z",
    'map: Map {{key: 1} → Set ["a"]',
    "bytes: Uint8Array 3 bytes",
    "nothing: undefined",
    "not: NaN",
    "pattern: RegExp /a+/gi",
    "url: URL https://example.com/a",
    'looks: {$perdure: "not a marker"}',
  ]) {
    expect(shown).toContain(text);
  }
});

test("a failure shows its message, all causes, and the application's own lines of the stack", async () => {
  const { page, troubles } = await scene.show("/instances/payout-1");
  const failed = page.getByRole("region", { name: "Failed" });
  await failed.getByText("Error: payout to DE89 failed").waitFor();
  await failed.getByText("Error: the bank did not answer").waitFor();
  await failed.getByText("Error: connect ECONNREFUSED 10.0.0.7:443").waitFor();
  expect(await failed.getByText("Caused by").count()).toBe(2);
  await failed
    .getByText(/shop\.ts:\d+:\d+$/)
    .first()
    .waitFor();
  expect(troubles).toEqual([]);
});

test("nondeterminism is shown side by side, with the source line of the request", async () => {
  const { page, troubles } = await scene.show("/instances/drift-1");
  const panel = page.getByRole("region", { name: "Blocked: NONDETERMINISM" });
  const cells = async (name: string): Promise<string[]> =>
    panel
      .getByRole("row", { name: new RegExp(`^${name}`) })
      .getByRole("cell")
      .allTextContents();
  await panel.getByText("− History holds").waitFor();
  expect(await cells("kind")).toEqual(["EventSubscribed", "ActivityScheduled"]);
  expect(await cells("name")).toEqual(["go", "charge"]);
  expect((await cells("input"))[0]).toBe("nothing");
  await panel.getByText(/Requested at .*shop\.ts:\d+:\d+/).waitFor();
  await panel.getByRole("link", { name: "Event 2" }).click();
  await page.getByRole("heading", { name: "Event subscribed event 2" }).waitFor();
  expect(troubles).toEqual([]);
});

test("a flow is drawn from its definition, with the state of each node, and updates live", async () => {
  const { client } = scene.world.perdure;
  await client.start(checkout, order, { id: "checkout-1" });
  await until(scene.world.perdure, "checkout-1", waitsForEvent);
  const { page, troubles } = await scene.show("/instances/checkout-1?tab=flow");
  const node = (name: RegExp): Locator => page.locator(".flow").getByRole("button", { name });
  await node(/^charge, task, completed, ×2/).waitFor();
  await node(/^fork, fork, completed/).waitFor();
  await node(/^fork\.stock\/each\/reserve, task, completed, 3\/3/).waitFor();
  await node(/^size\.large\/truck, task, completed/).waitFor();
  await node(/^size\.small\/bike, task, idle/).waitFor();
  await node(/^refine\/round, task, completed, 3\/3/).waitFor();
  await node(/^approval, wait, waiting/).waitFor();
  await node(/^thank, task, idle/).waitFor();
  await node(/^refine\/round/).click();
  const detail = page.getByRole("region", { name: "Node refine/round" });
  await expect.poll(() => detail.getByRole("row").count()).toBe(4);
  expect(page.url()).toContain("node=refine%2Fround");
  await client.get("checkout-1").raise(approval, { by: "ada" });
  await node(/^thank, task, completed/).waitFor();
  await node(/^size\.small\/bike, task, skipped/).waitFor();
  expect(troubles).toEqual([]);
});

test("parents, children and executions link to each other", async () => {
  const { client } = scene.world.perdure;
  await client.start(rounds, 2, { id: "rounds-1" });
  await until(scene.world.perdure, "rounds-1", waitsForEvent);
  const { page, troubles } = await scene.show("/instances/order-1?tab=family");
  const child = page
    .getByRole("region", { name: "Tree" })
    .getByRole("link", { name: /^order-1::/ });
  await child.click();
  await page.getByRole("heading", { level: 1, name: /^order-1::/ }).waitFor();
  await page.getByText("child of order-1").waitFor();
  await page.evaluate(`location.hash = "#/instances/rounds-1?tab=family"`);
  const table = page.getByRole("region", { name: "Executions" });
  await expect.poll(() => table.getByRole("row").count()).toBe(4);
  await table.getByRole("link", { name: "1" }).click();
  await page.getByText("1 span over").waitFor();
  expect(await page.getByLabel("Execution").inputValue()).toBe("1");
  await page.getByLabel("Execution").selectOption("3");
  await page.getByText("2 spans over").waitFor();
  expect(page.url()).not.toContain("execution=");
  expect(troubles).toEqual([]);
});

test("an instance page updates with every event", async () => {
  const { client } = scene.world.perdure;
  await client.start(keeper, "first", { id: "followed" });
  await until(scene.world.perdure, "followed", waitsForEvent);
  const { page } = await scene.show("/instances/followed");
  await statusOf(page, "running");
  await page
    .getByRole("region", { name: /^Timeline/ })
    .getByRole("button")
    .first()
    .waitFor();
  await client.get("followed").raise(go, { word: "on" });
  await statusOf(page, "completed");
  await page.getByRole("button", { name: /^go, completed/ }).waitFor();
  await page.getByRole("tab", { name: /^History/ }).click();
  await page.getByText("Orchestration completed").waitFor();
  await client.get("followed").restart();
  await statusOf(page, "running");
});

test("the page of an instance that is deleted meanwhile says so", async () => {
  const { client } = scene.world.perdure;
  await client.start(keeper, 1, { id: "gone" });
  await until(scene.world.perdure, "gone", waitsForEvent);
  const { page } = await scene.show("/instances/gone");
  await statusOf(page, "running");
  await client.delete("gone", { force: true });
  await page.reload();
  await page.getByText('There is no instance "gone"').waitFor();
});

async function statusOf(page: Page, status: string): Promise<void> {
  await page.locator(`.instance-head .badge[data-status=${status}]`).waitFor();
}

test("an instance whose values need a missing key says so, on its page and in the list", async () => {
  const { page, troubles } = await scene.show("/instances/sealed-1");
  await page
    .locator(".instance-head")
    .getByText(/cannot be read: .*key-7/)
    .waitFor();
  await page.evaluate(`location.hash = "#/instances?name=sealed"`);
  await page
    .getByRole("row", { name: /sealed-1/ })
    .getByText(/cannot be read: .*key-7/)
    .waitFor();
  expect(troubles).toEqual([]);
});
