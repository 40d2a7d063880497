// The pages of schedules, entities and queues: figures, keys, pauses, and retries of failed jobs.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useScene } from "./support/scene.ts";
import { basket, mail, mailServer, nightly, visitor } from "./support/shop.ts";
import { until, waitsForEvent } from "./support/world.ts";

const HOSTILE = '<img src=x onerror="window.hacked = true">';

const scene = useScene({}, async ({ perdure }) => {
  const { client } = perdure;
  await nightly.apply(client);
  await client.start(visitor, "berlin", { id: "v-1" });
  await until(perdure, "v-1", waitsForEvent);
  await client.start(visitor, "berlin", { id: "v-2" });
  for (const key of ["ada", "amy", HOSTILE]) await client.entity(basket, key).add(HOSTILE);
  mailServer.isDown = true;
  for (const id of ["m-1", "m-2"]) {
    const failed = await client.enqueue(mail, "ada", { id, key: "k" });
    await failed.result().catch(() => undefined);
  }
  mailServer.isDown = false;
});

test("an operator triggers a schedule, pauses it and resumes it", async () => {
  const { client } = scene.world.perdure;
  const { page, troubles } = await scene.show("/schedules", { role: "operator" });
  const row = page.getByRole("row", { name: /nightly/ });
  await row.getByText("0 3 * * * (Europe/Berlin)").waitFor();
  await row.getByText(/^in \d+ (h|min)$/).waitFor();
  await row.getByRole("link", { name: "nightly" }).click();
  await page.getByText("No runs yet").waitFor();

  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Trigger" }).click();
  await dialog.getByRole("button", { name: "Trigger" }).click();
  const runs = page.getByRole("region", { name: "Latest runs" });
  await runs.getByRole("row", { name: /completed nightly\/.*-trigger-/ }).waitFor();

  await page.getByRole("button", { name: "Pause" }).click();
  await dialog.getByLabel("Reason").fill(HOSTILE);
  await dialog.getByRole("button", { name: "Pause" }).click();
  await page.getByText(`Paused by otto: ${HOSTILE}`).waitFor();
  expect(await client.get("nightly").describe()).toMatchObject({ status: "paused" });
  await page.getByRole("button", { name: "Resume" }).click();
  await dialog.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Trigger" }).waitFor();
  expect(await client.get("nightly").describe()).toMatchObject({ status: "running" });

  await page.getByRole("link", { name: "All runs" }).click();
  await page.getByRole("row", { name: /^nightly\/.*-trigger-/ }).waitFor();
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(troubles).toEqual([]);
});

test("a viewer sees why the actions of a schedule are disabled", async () => {
  const { page } = await scene.show("/schedules/nightly", { role: "viewer" });
  await page.getByText("Every action needs the role operator; yours is viewer.").waitFor();
  expect(await page.getByRole("button", { name: "Trigger" }).isDisabled()).toBe(true);
});

test("a limiter shows its holders and who waits, and offers no internal request", async () => {
  const { page, troubles } = await scene.show("/queues");
  const limiters = page.getByRole("region", { name: "1 limiter" });
  const cells = limiters.getByRole("row", { name: /berlin/ }).getByRole("cell");
  await expect
    .poll(() => cells.allTextContents(), { timeout: 30_000 })
    .toEqual(["bank", "berlin", "1", "1", "1 at a time", "v-1"]);
  await limiters.getByRole("link", { name: "bank" }).click();
  await page.getByText("internal request limiter.enter").waitFor();
  await page.getByText("internal event leave").waitFor();
  expect(await page.getByRole("button", { name: /^(Ask|Raise (leave|ask))/ }).count()).toBe(0);
  expect(troubles).toEqual([]);
});

test("an entity shows its keys and states, and a prefix finds a key", async () => {
  const { page, troubles } = await scene.show("/entities");
  await page.getByRole("row", { name: "basket 3" }).getByRole("link").click();
  await page.getByRole("row", { name: HOSTILE }).first().waitFor();
  await page.getByLabel("Key starts with").fill("am");
  await expect.poll(() => page.getByRole("row").count(), { timeout: 30_000 }).toBe(2);
  await page.getByRole("row", { name: /amy/ }).getByText("<img src=x onerror=").waitFor();
  await page.getByRole("link", { name: "amy" }).click();
  await page.getByRole("heading", { level: 1, name: "basket/amy" }).waitFor();
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(troubles).toEqual([]);
});

async function confirm(page: Page, action: string, reason?: string): Promise<void> {
  const actions = page.getByRole("toolbar", { name: "Actions" });
  await actions.getByRole("button", { name: action }).click();
  const dialog = page.getByRole("dialog");
  if (reason !== undefined) await dialog.getByLabel("Reason").fill(reason);
  await dialog.locator("button[type=submit]").click();
  await dialog.waitFor({ state: "detached" });
}

test("an operator pauses a queue, sees the keys that wait, and resumes it", async () => {
  const { client } = scene.world.perdure;
  const { page, troubles } = await scene.show("/queues", { role: "operator" });
  await page.getByRole("row", { name: /mail/ }).getByRole("link", { name: "mail" }).click();
  await page.getByRole("heading", { level: 1, name: "mail" }).waitFor();
  await page.getByText("3 at a time, 1 per key, 1,000 per 1 min, fair order").waitFor();
  await confirm(page, "Pause", HOSTILE);
  await page.getByText(`by otto: ${HOSTILE}`).waitFor();
  await page.locator(".instance-head .badge[data-status=paused]").waitFor();
  const jobs = await client.enqueueMany(mail, [
    { input: "a", key: HOSTILE },
    { input: "b", key: HOSTILE },
    { input: "c", key: "tenant-2" },
  ]);
  const keys = page.getByRole("region", { name: "Keys with the most waiting tasks" });
  await keys.getByRole("row", { name: /tenant-2/ }).waitFor();
  const first = keys.getByRole("row").nth(1).getByRole("cell");
  await expect.poll(() => first.allTextContents()).toEqual([HOSTILE, "2", "0"]);

  await page.evaluate(`location.hash = "#/"`);
  await page
    .getByRole("region", { name: "Needs attention" })
    .getByText("Queue mail is paused, 3 tasks waiting")
    .waitFor();
  await page.getByRole("link", { name: "mail", exact: true }).click();
  await confirm(page, "Resume");
  await page.locator(".instance-head .badge").waitFor({ state: "detached" });
  for (const id of jobs) expect(await client.get(id).result()).toMatch(/^sent to/);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  expect(troubles).toEqual([]);
});

test("an operator retries the failed jobs, which are linked", async () => {
  const { client } = scene.world.perdure;
  const { page, troubles } = await scene.show("/queues", { role: "operator" });
  await page.getByRole("row", { name: /mail/ }).getByRole("link", { name: "2" }).click();
  await page.getByRole("row", { name: "m-1, failed, mail" }).waitFor();
  expect(await page.getByRole("row").count()).toBe(2);
  await page.goBack();
  await page.getByRole("link", { name: "mail", exact: true }).click();
  await confirm(page, "Retry failed jobs");
  await page.getByText("Retry: 2 failed jobs done.").waitFor();
  for (const id of ["m-1", "m-2"]) expect(await client.get(id).result()).toBe("sent to ada");
  await page.getByRole("button", { name: "Retry failed jobs" }).waitFor({ state: "detached" });
  expect(troubles).toEqual([]);
});

test("a viewer sees why the actions are disabled", async () => {
  const { page } = await scene.show("/queues/mail", { role: "viewer" });
  const pause = page.getByRole("button", { name: "Pause" });
  await pause.waitFor();
  expect(await pause.isDisabled()).toBe(true);
  await page.getByText("Every action needs the role operator; yours is viewer.").waitFor();
});
