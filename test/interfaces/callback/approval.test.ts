// An approval by a link in a mail, end to end, in a real browser.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { openBrowser, openPage } from "../ui/support/browser.ts";
import { kvText } from "./programs.ts";
import { openScene } from "./support.ts";

/** Sends a mail with two links, and returns the decision. */
const approve = orchestration("approve", async (ctx, cents: number) => {
  const decided = ctx.callback<{ decision: string }>("approval", { timeout: "3d" });
  ctx.kv.set("mail", `Approve ${cents}: ${decided.url}?decision=approve`);
  const answer = await decided;
  return answer?.decision ?? "expired";
});

const held: { browser?: Browser } = {};
beforeAll(async () => {
  held.browser = await openBrowser();
});
afterAll(async () => {
  await held.browser?.close();
});

test("a link in a mail opens a page, its button approves, and the instance continues", async () => {
  const scene = await openScene({ register: [approve] });
  const { client } = scene.perdure;
  await client.start(approve, 700, { id: "order-7" });
  const mail = await kvText(scene.perdure, "order-7", "mail");
  const link = mail.slice(mail.indexOf("http"));
  if (held.browser === undefined) throw new Error("the browser is not open");

  // A link scanner opens the link first. Nothing happens.
  for (const method of ["HEAD", "GET", "GET"]) await scene.send(link, { method });
  expect((await client.get("order-7").describe()).status).toBe("running");

  await using watched = await openPage(held.browser, link);
  const { page, troubles } = watched;
  expect(await page.title()).toBe("Confirm: approval");
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Confirm: approval");
  expect(await page.getByRole("main").textContent()).toContain("decisionapprove");
  expect((await client.get("order-7").describe()).status).toBe("running");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText("Your answer was recorded.").waitFor();
  expect(await client.get("order-7").result()).toBe("approve");

  // The same link again, also with another decision, changes nothing.
  await page.goto(link.replace("approve", "reject"));
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Your answer was recorded.").waitFor();
  expect(await client.get("order-7").result()).toBe("approve");
  expect(troubles).toEqual([]);
});

test("a hostile link shows its texts and runs nothing", async () => {
  const scene = await openScene({ register: [approve] });
  await scene.perdure.client.start(approve, 1, { id: "o" });
  const mail = await kvText(scene.perdure, "o", "mail");
  const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>`;
  const link = `${mail.slice(mail.indexOf("http")).split("?")[0]}?note=${encodeURIComponent(hostile)}`;
  if (held.browser === undefined) throw new Error("the browser is not open");
  await using watched = await openPage(held.browser, link);
  expect(await watched.page.getByRole("definition").textContent()).toBe(hostile);
  expect(await watched.page.locator("script, img").count()).toBe(0);
  expect(watched.troubles).toEqual([]);
});
