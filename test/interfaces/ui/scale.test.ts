// Large stores and long histories. PERDURE_FULL=1 uses the sizes that the docs promise.

import { expect, test } from "vitest";
import { orchestration, Perdure } from "../../../src/index.ts";
import { useScene } from "./support/scene.ts";
import { until, waitsForEvent } from "./support/world.ts";

const isFull = process.env["PERDURE_FULL"] === "1";
const INSTANCES = isFull ? 100_000 : 5_000;
const STEPS = isFull ? 24_900 : 2_400;

const long = orchestration("long", async (ctx, steps: number) => {
  for (let done = 0; done < steps; done += 100) {
    await ctx.all(
      Array.from({ length: 100 }, (_, n) => ctx.step(`step-${n}`, () => ({ n: done + n }))),
    );
  }
  return ctx.waitFor("go");
});

const scene = useScene({}, async ({ perdure }) => {
  const { client } = perdure;
  for (let first = 0; first < INSTANCES; first += 1_000) {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, n) =>
        client.start("unregistered", n, { id: `job-${String(first + n).padStart(6, "0")}` }),
      ),
    );
  }
  await using runtime = await Perdure.open(perdure.provider, {
    register: [long],
    runtime: { log: () => undefined },
  });
  await runtime.client.start(long, STEPS, { id: "long-1" });
  await until(runtime, "long-1", waitsForEvent);
});

test(`a list of ${INSTANCES} instances appears and scrolls, with few rows in the document`, async () => {
  const { page, troubles } = await scene.show("/queues");
  await page.getByRole("heading", { name: "Queues", exact: true }).waitFor();
  await page.evaluate(`location.hash = "#/instances?name=unregistered"`);
  const last = String(INSTANCES - 1).padStart(6, "0");
  await page.getByRole("row", { name: `job-${last}, pending, unregistered` }).waitFor();
  await expect
    .poll(() => page.locator(".page-count").textContent())
    .toBe(INSTANCES.toLocaleString("en"));
  const goal = String(INSTANCES - 3_000).padStart(6, "0");
  await expect
    .poll(
      async () => {
        await page.evaluate("document.querySelector('.list').scrollTop += 20000");
        const ids = await page.locator(".list-row .list-id").allTextContents();
        return ids.some((id) => id <= `job-${goal}`);
      },
      { timeout: 40_000, interval: 50 },
    )
    .toBe(true);
  expect(await page.getByRole("row").count()).toBeLessThan(80);
  const shown = await page.locator(".list-row .list-id").allTextContents();
  expect(new Set(shown).size).toBe(shown.length);
  expect(troubles).toEqual([]);
});

test("in the opposite order the first instances appear at once", async () => {
  const { page } = await scene.show("/instances?name=unregistered&order=oldest");
  await page.getByRole("row", { name: "job-000000, pending, unregistered" }).waitFor();
});

test("a bulk action on thousands of instances counts them first", async () => {
  const { page } = await scene.show("/instances?name=unregistered");
  await page.getByRole("row").first().waitFor();
  await page.getByLabel("Select all that match").check();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  const count = INSTANCES.toLocaleString("en");
  await page.getByRole("dialog").getByText(`Applies to ${count} instances.`).waitFor();
  await page.keyboard.press("Escape");
});

test(`a history of ${STEPS * 2} events is usable: timeline, history from end to end, search`, async () => {
  const { page, troubles } = await scene.show("/queues");
  await page.getByRole("heading", { name: "Queues", exact: true }).waitFor();
  await page.evaluate(`location.hash = "#/instances/long-1"`);
  await page
    .getByRole("button", { name: /^step-0, completed/ })
    .first()
    .waitFor();
  await page.getByText(`${(STEPS + 1).toLocaleString("en")} spans over`).waitFor();
  expect(await page.locator(".gantt-row").count()).toBeLessThan(80);
  await page.getByRole("tab", { name: /^History/ }).click();
  await page.getByText("Orchestration started").waitFor();
  await page.evaluate("document.querySelector('.events').scrollTop = 1e9");
  await page.getByText("Event subscribed").waitFor();
  expect(await page.getByRole("listitem").count()).toBeLessThan(80);
  await page.getByLabel("Search in events and payloads").fill(`"n":${STEPS - 1}}`);
  await page.getByText("1 event found", { exact: true }).waitFor();
  expect(troubles).toEqual([]);
});
