// The overview, the queues, the runtimes and the login.

import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { createToken, perdureServer } from "../../../src/server/index.ts";
import { openBrowser, openPage } from "./support/browser.ts";
import { builtUi } from "./support/built-ui.ts";
import { useScene } from "./support/scene.ts";
import { fulfil, payout, poster, quick } from "./support/shop.ts";
import { block, until, waitsForEvent } from "./support/world.ts";

const order = { id: "o", customer: "c-7", lines: ["chair"] };

const scene = useScene({}, async (world) => {
  const { client } = world.perdure;
  await block(world);
  await client.start(fulfil, order, { id: "order-1" });
  await client.start(poster, "page", { id: "poster-1" });
  for (const n of [1, 2, 3]) await (await client.start(quick, n, { id: `quick-${n}` })).result();
  const failed = await client.start(payout, "DE89", { id: "payout-1" });
  await failed.result().catch(() => undefined);
  await until(world.perdure, "order-1", waitsForEvent);
});

test("the overview counts instances by status, and each count links to its list", async () => {
  const { page, troubles } = await scene.show("/");
  const tile = (status: string) => page.locator(`.tile[data-status=${status}]`);
  await expect.poll(() => tile("completed").textContent()).toBe("completed3");
  expect(await tile("failed").textContent()).toBe("failed1");
  expect(await tile("running").textContent()).toBe("running3");
  expect(await tile("blocked").textContent()).toBe("blocked1");
  await tile("failed").click();
  await page.getByRole("row", { name: "payout-1, failed, payout" }).waitFor();
  expect(page.url()).toMatch(/#\/instances\?status=failed$/);
  expect(await page.getByRole("row").count()).toBe(1);
  expect(troubles).toEqual([]);
});

test("the overview names blocked instances and work that no worker can run", async () => {
  const { page } = await scene.show("/");
  const attention = page.getByRole("region", { name: "Needs attention" });
  await attention.getByText("1 blocked: drift 1.0.0, NONDETERMINISM").waitFor();
  await attention.getByText("activity render [gpu]: no worker can run this").waitFor();
  await attention.getByText('no running worker registers activity "render"').waitFor();
  await attention.getByRole("link", { name: "drift-1" }).click();
  await page.getByRole("heading", { level: 1, name: "drift-1" }).waitFor();
});

test("the overview draws throughput, latency and queues over time, with the same data as text", async () => {
  await (await scene.world.perdure.client.start(quick, 5)).result(); // gives the chart a latency
  const { page, troubles } = await scene.show("/");
  const charts = page.getByRole("region", { name: "Recent activity" });
  for (const title of ["Throughput", "Latency, from start to end", "Work in the queue"]) {
    await charts.getByRole("img", { name: new RegExp(`^${title}: `) }).waitFor();
  }
  await expect.poll(() => charts.locator("canvas").count()).toBe(4);
  const depths = page.getByRole("table", { name: "Waiting tasks by tags and priority" });
  const row = depths.getByRole("row", { name: /gpu/ });
  expect(await row.getByRole("cell").allTextContents()).toEqual(["1", "0", "0", "0", "0", "0"]);
  await page.getByRole("region", { name: "1 worker running" }).waitFor();
  expect(troubles).toEqual([]);
});

test("the overview updates without a reload", async () => {
  const { page } = await scene.show("/");
  const completed = page.locator(".tile[data-status=completed] .tile-count");
  await completed.waitFor();
  const before = Number(await completed.textContent());
  await (await scene.world.perdure.client.start(quick, 9)).result();
  await expect.poll(() => completed.textContent(), { timeout: 20_000 }).toBe(String(before + 1));
  expect(await page.locator(".live").first().textContent()).toBe("Live");
});

test("the queues show depth, rate, failures and their workers, and a queue its tags", async () => {
  const { page, troubles } = await scene.show("/queues");
  await page.getByRole("heading", { level: 1, name: "Queues" }).waitFor();
  const row = page.getByRole("row", { name: /render/ });
  await row.waitFor();
  const cells = await row.getByRole("cell").allTextContents();
  const reason = 'no worker can run this: no running worker registers activity "render"';
  expect(cells.slice(0, 2)).toEqual([`render${reason}`, "1"]);
  expect(cells.slice(3)).toEqual(["0", "0", "0/s", "0", ""]);
  await row.getByRole("link", { name: "render" }).click();
  await page.getByRole("heading", { level: 1, name: "render" }).waitFor();
  const kinds = page.getByRole("region", { name: "Tasks by tags and priority" });
  const kind = kinds.getByRole("row", { name: /gpu/ }).getByRole("cell");
  expect(await kind.allTextContents()).toEqual(["gpu", "1", "1", "0", "0"]);
  expect(troubles).toEqual([]);
});

test("the runtimes show what they register and hold", async () => {
  const { page, troubles } = await scene.show("/runtimes");
  await page.getByText("1 worker running").waitFor();
  await page.getByRole("region", { name: "No worker can run this" }).waitFor();
  await page.getByText(/^\d+ orchestrations$/).click();
  await page.getByText("fulfil 1.0.0").waitFor();
  await page.getByText(/^checkout 1\.0\.0\+[0-9a-f]{8}$/).waitFor();
  expect(troubles).toEqual([]);
});

test("a wrong token is refused with a message, a right one logs in, and logging out ends the session", async () => {
  await using browser = await openBrowser();
  const { url } = scene.world.listening;
  const { page, troubles } = await openPage(browser, `${url}/#/queues`);
  const token = page.getByLabel("Token");
  await token.fill("pdr_wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("That token is not valid.").waitFor();
  await token.fill(scene.world.tokens.viewer);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Queues", exact: true }).waitFor();
  await page.getByText("vera · viewer").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Queues", exact: true }).waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Token").waitFor();
  // The browser itself logs each 401 response.
  expect(troubles.filter((trouble) => !trouble.includes("401 (Unauthorized)"))).toEqual([]);
});

test("a token in the address is removed from it before the page is shown", async () => {
  const { page } = await scene.show("/");
  expect(page.url()).not.toContain("token");
  await page.goBack().catch(() => null);
  expect(page.url()).not.toContain("token");
});

test("mounted in an application the dashboard works below its path, with and without a trailing slash", async () => {
  const { token, entry } = createToken({ name: "mia", role: "viewer" });
  await using mounted = perdureServer(scene.world.perdure.client, {
    ui: await builtUi(),
    tokens: [entry],
    log: () => undefined,
  });
  const app = new Hono().route("/ops/perdure", mounted);
  const node = createAdaptorServer({ fetch: app.fetch });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void node.close());
  const { port } = node.address() as AddressInfo; // it listens on a port
  await using browser = await openBrowser();
  for (const path of ["/ops/perdure", "/ops/perdure/"]) {
    const address = `http://127.0.0.1:${port}${path}#token=${token}`;
    await using watched = await openPage(browser, address);
    const { page, troubles } = watched;
    await page.locator(".tile[data-status=failed]").click();
    await page.getByRole("row", { name: "payout-1, failed, payout" }).waitFor();
    expect(page.url()).toMatch(/\/ops\/perdure\/#\/instances\?status=failed$/);
    await page.reload();
    await page.getByRole("row", { name: "payout-1, failed, payout" }).waitFor();
    expect(troubles).toEqual([]);
  }
});

test('an unknown address shows "Page not found"', async () => {
  const { page } = await scene.show("/nowhere");
  await page.getByText("Page not found").waitFor();
  await page.evaluate(`location.hash = "#/instances/missing"`);
  await page.getByText('There is no instance "missing"').waitFor();
});
