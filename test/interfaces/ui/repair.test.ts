// Repairs: retry with a preview, retry from a row of the timeline, edit and run again, bulk retry; and what the list waits for.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { axeFindings } from "./support/axe.ts";
import { useScene } from "./support/scene.ts";
import {
  charged,
  cinema,
  fulfil,
  keeper,
  mall,
  poster,
  sale,
  stubborn,
  truck,
  type Order,
} from "./support/shop.ts";
import { block, until, waitsForEvent, type World } from "./support/world.ts";

const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true };

const orderOf = (id: string): Order => ({ id, customer: "c-7", lines: ["chair"] });

async function failedSale({ perdure }: World, id: string): Promise<void> {
  truck.isBroken = true;
  const started = await perdure.client.start(sale, orderOf(id), { id });
  await started.result().catch(() => undefined);
}

const scene = useScene({}, async (world) => {
  const { perdure } = world;
  const { client } = perdure;
  await block(world);
  await client.start(fulfil, orderOf("f"), { id: "order-1" });
  await client.start(keeper, null, { id: "paused-1" });
  await client.start(poster, "page", { id: "poster-1" });
  await client.start(stubborn, "DE89", { id: "stubborn-1" });
  await client.start(cinema, undefined, { id: "cinema-1" });
  for (const id of ["order-1", "paused-1"]) await until(perdure, id, waitsForEvent);
  await client.get("paused-1").pause({ reason: "stock-taking" });
  for (const id of ["sale-1", "sale-2", "sale-3"]) await failedSale(world, id);
  for (const id of ["sale-4", "sale-5"]) await failedSale(world, id);
  const parent = await client.start(mall, orderOf("m"), { id: "mall-1" });
  await parent.result().catch(() => undefined);
});

/** Accessible, and not wider than the screen. */
async function isFine(page: Page, what: string): Promise<void> {
  expect((await axeFindings(page)).map((finding) => `${what}: ${finding}`)).toEqual([]);
  const [scroll, client] = (await page.evaluate(
    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
  )) as [number, number];
  expect([what, scroll]).toEqual([what, client]);
}

test("the list says what each instance waits for, on a wide screen and on a phone", async () => {
  const { page, troubles } = await scene.show("/instances");
  const waits = (id: string) =>
    page.getByRole("row", { name: new RegExp(`^${id},`) }).locator(".list-waits");
  await waits("order-1").getByText("approval").waitFor();
  expect(await waits("order-1").textContent()).toMatch(/^event approvaltimer in (2 d|48 h)$/);
  expect(await waits("poster-1").textContent()).toBe("activity render");
  expect(await waits("cinema-1").textContent()).toBe("callback paidcallback opened+2");
  expect(await waits("paused-1").textContent()).toBe("a resume: stock-taking");
  expect(await waits("drift-1").textContent()).toBe("a repair: NONDETERMINISM");
  await waits("stubborn-1").getByText("settle, retrying, attempt 5").waitFor();
  expect(await waits("sale-1").textContent()).toBe("");
  await isFine(page, "list");
  const phone = await scene.show("/instances", PHONE);
  const row = phone.page.getByRole("row", { name: /^order-1,/ });
  await row.getByText("event approval").waitFor();
  await phone.page
    .getByRole("row", { name: /^sale-1,/ })
    .getByText(/the truck is broken/)
    .waitFor();
  await isFine(phone.page, "list on a phone");
  expect([...troubles, ...phone.troubles]).toEqual([]);
});

test("a failed instance is retried: the preview says what happens, and completed work is kept", async () => {
  const { client } = scene.world.perdure;
  const { page, troubles } = await scene.show("/instances/sale-1", { role: "operator" });
  const actions = page.getByRole("toolbar", { name: "Actions" });
  const retry = actions.getByRole("button", { name: "Retry", exact: true });
  await retry.waitFor();
  expect(await retry.getAttribute("data-kind")).toBe("primary");
  await page.getByRole("button", { name: /^pay, completed, .* ran .* queued/ }).waitFor();
  await page.getByRole("button", { name: /^voucher, compensation, completed/ }).waitFor();

  await retry.click();
  const dialog = page.getByRole("dialog", { name: "Retry sale-1?" });
  const list = (name: string): Promise<string[]> =>
    dialog.getByRole("list", { name }).getByRole("listitem").allTextContents();
  await dialog.getByText("The registered code replays this past.").waitFor();
  expect(await list("Done again, with the same idempotency keys")).toEqual([
    "activity deliver event 4",
  ]);
  expect(await list("Kept, and not repeated")).toEqual(["activity pay event 2"]);
  expect(await list("Compensations that already ran, and are not undone")).toEqual([
    "activity voucher event 6",
  ]);
  await isFine(page, "preview");
  truck.isBroken = false;
  await dialog.getByLabel("Reason").fill("the truck is repaired");
  await dialog.getByRole("button", { name: "Retry" }).click();
  await page.locator(".instance-head .badge[data-status=completed]").waitFor();
  expect(await client.get("sale-1").describe()).toMatchObject({
    execution: 2,
    output: "delivered to c-7",
    repairs: [{ kind: "rewind", by: "otto", reason: "the truck is repaired" }],
  });
  expect(charged.filter((id) => id === "sale-1")).toHaveLength(1);
  const repairs = page.getByRole("list", { name: "Repairs" });
  await repairs.getByText(/^Execution 1 rewound to before event \d+ by otto/).waitFor();
  await repairs.getByText("the truck is repaired").waitFor();
  await page.locator('.mark[data-kind="Repair"]').waitFor({ state: "attached" });
  expect(await actions.getByRole("button", { name: "Retry", exact: true }).count()).toBe(0);
  expect(troubles).toEqual([]);
});

test("an ended instance goes on from a row of the timeline, and a replaced outcome names its author", async () => {
  const { client } = scene.world.perdure;
  truck.isBroken = false;
  const { page, troubles } = await scene.show("/instances/sale-2");
  await page.getByRole("button", { name: /^pay, completed/ }).click();
  await page.getByRole("button", { name: /^Retry from here: pay, event 2/ }).click();
  const dialog = page.getByRole("dialog", { name: "Retry sale-2 from event 2?" });
  await dialog.getByText("Already happened, is not undone, and may happen again").waitFor();
  await dialog.getByRole("button", { name: "Retry" }).click();
  await page.locator(".instance-head .badge[data-status=completed]").waitFor();
  expect(charged.filter((id) => id === "sale-2")).toHaveLength(2);

  const replace = [{ sequence: 2, output: { receipt: "by hand" } }];
  const repair = { before: 4, replace, reason: "paid in cash", by: "vera" };
  await client.get("sale-2").rewind(repair);
  await page.getByRole("button", { name: /^pay, completed, replaced by an operator/ }).click();
  await page.getByText(/^An operator gave this outcome: vera, .* Reason: paid in cash$/).waitFor();
  await isFine(page, "replaced outcome");
  expect(troubles).toEqual([]);
});

test("on a phone a blocked instance can be retried, and an input edited", async () => {
  const { client } = scene.world.perdure;
  const { page, troubles } = await scene.show("/instances/drift-1", PHONE);
  const actions = page.getByRole("toolbar", { name: "Actions" });
  await actions.getByRole("button", { name: "Retry", exact: true }).tap();
  await page.getByRole("dialog").getByText("The registered code replays this past.").waitFor();
  await isFine(page, "preview on a phone");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).tap();

  await page.evaluate(`location.hash = "#/instances/sale-3"`);
  await page.getByRole("heading", { level: 1, name: "sale-3" }).waitFor();
  await page.getByRole("button", { name: /^deliver, failed/ }).waitFor();
  await isFine(page, "failed instance on a phone");
  await actions.getByRole("button", { name: "Edit and run again" }).tap();
  const dialog = page.getByRole("dialog");
  const work = dialog.getByRole("list", { name: "Completed work that will run again" });
  await expect.poll(() => work.getByRole("listitem").allTextContents()).toContain("activity pay");
  const input = dialog.getByLabel("Input");
  await expect.poll(() => input.inputValue()).toContain('"customer": "c-7"');
  await isFine(page, "edit dialog on a phone");
  await input.fill((await input.inputValue()).replace("c-7", "c-8"));
  await dialog.getByLabel("Reason").fill("wrong customer");
  await dialog.getByRole("button", { name: "Run again" }).tap();
  await page.locator(".instance-head .badge[data-status=completed]").waitFor();
  expect(await client.get("sale-3").describe()).toMatchObject({
    execution: 2,
    output: "delivered to c-8",
    repairs: [{ kind: "restart", by: "ada", reason: "wrong customer" }],
  });
  expect(troubles).toEqual([]);
});

test("all failed instances that match are retried: a bar shows the progress, and refusals have their codes", async () => {
  const { client } = scene.world.perdure;
  truck.isBroken = false;
  const { page, troubles } = await scene.show("/instances?status=failed&name=sale");
  await page.getByLabel("Select all that match").check();
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Retry 3 instances?" });
  await dialog.getByText("1 instance would be refused", { exact: true }).waitFor();
  await dialog.getByText("PARENT_INFORMED: 1").waitFor();
  await isFine(page, "check of a bulk retry");
  await dialog.getByLabel("Reason").fill("bad deploy");
  await dialog.getByRole("button", { name: "Retry 3" }).click();
  await dialog.getByText("2 instances done, 1 refused").waitFor();
  expect(await dialog.getByRole("progressbar").getAttribute("value")).toBe("3");
  const refused = dialog.getByRole("list", { name: "Refused instances" }).getByRole("listitem");
  expect(await refused.textContent()).toMatch(/^sale-of-m PARENT_INFORMED /);
  await isFine(page, "result of a bulk retry");
  for (const id of ["sale-4", "sale-5"]) {
    await client.get(id).result();
    expect((await client.get(id).describe()).repairs).toMatchObject([{ reason: "bad deploy" }]);
    expect(charged.filter((each) => each === id)).toHaveLength(1);
  }
  expect(troubles).toEqual([]);
});

test("a child whose parent knows of its failure is retried with its parent", async () => {
  const { client } = scene.world.perdure;
  truck.isBroken = false;
  const { page } = await scene.show("/instances/sale-of-m");
  const actions = page.getByRole("toolbar", { name: "Actions" });
  await actions.getByRole("button", { name: "Retry", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("PARENT_INFORMED").waitFor();
  await dialog.getByLabel("Also rewind the parents, and the failed and cancelled children").check();
  await dialog.getByRole("heading", { name: "mall-1" }).waitFor();
  await dialog.getByRole("button", { name: "Retry" }).click();
  await page.locator(".instance-head .badge[data-status=completed]").waitFor();
  expect(await client.get("mall-1").result()).toBe("delivered to c-7");
});
