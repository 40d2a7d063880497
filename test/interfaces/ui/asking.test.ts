// Requests in the dashboard: the form that asks an instance, the waiting panel, the timeline and the history.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useScene } from "./support/scene.ts";
import { addLine, buy, buyer, cart } from "./support/shop.ts";
import { until } from "./support/world.ts";

describe("an instance that serves requests", () => {
  const scene = useScene();

  async function started(id: string): Promise<void> {
    await scene.world.perdure.client.start(cart, undefined, { id });
    await until(scene.world.perdure, id, ({ waitingFor }) => waitingFor.length === 2);
  }
  const waits = (page: Page) => page.getByRole("region", { name: "Waiting for" });

  test("is asked from the waiting panel, and the dialog shows the answer", async () => {
    await started("asked");
    const { page, troubles } = await scene.show("/instances/asked");
    await waits(page).getByText("request clear").waitFor();
    await waits(page).getByRole("button", { name: "Ask add" }).click();
    const dialog = page.getByRole("dialog", { name: "Ask the instance" });
    expect(await dialog.getByLabel("Request").inputValue()).toBe("add");
    await dialog.getByLabel("Input").fill('{"sku": "chair", "count": 1}');
    await dialog.getByRole("button", { name: "Ask" }).click();
    const answer = dialog.getByRole("region", { name: "Answer" });
    await answer.getByText("lines").waitFor();
    await answer.getByText("1970-01-01").waitFor(); // a date, not its encoded form
    await dialog.getByLabel("Request").fill("clear");
    await dialog.getByLabel("Input").fill("");
    await answer.waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Ask" }).click();
    await dialog.getByText("The instance answered without a value.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(troubles).toEqual([]);
  });

  test("shows a refusal at the input, and the error of a handler with its details", async () => {
    await started("refusing");
    const { page, troubles } = await scene.show("/instances/refusing");
    const actions = page.getByRole("toolbar", { name: "Actions" });
    await actions.getByRole("button", { name: "Ask" }).click();
    const dialog = page.getByRole("dialog");
    const input = dialog.getByLabel("Input");
    const ask = dialog.getByRole("button", { name: "Ask" });
    await input.fill('{"sku": "chair"');
    expect(await ask.isDisabled()).toBe(true);
    await input.fill('{"sku": "chair", "count": 0}');
    await ask.click();
    await dialog.getByText("Refused: count must be positive; got 0").waitFor();
    expect(await input.getAttribute("aria-invalid")).toBe("true");
    await input.fill('{"sku": "chair", "count": 1}');
    expect(await input.getAttribute("aria-invalid")).toBe("false");
    for (const lines of [1, 2]) {
      await ask.click();
      await dialog
        .getByRole("region", { name: "Answer" })
        .getByText(String(lines), { exact: true })
        .waitFor();
    }
    await ask.click();
    await dialog.locator(".failure-message", { hasText: "the cart is full" }).waitFor();
    // The browser's console reports the two answers with status 409.
    expect(troubles.filter((trouble) => !trouble.includes("409"))).toEqual([]);
  });

  test("that does not answer: the dialog gives the reason, and waits longer for the same request", async () => {
    await started("paused");
    const handle = scene.world.perdure.client.get("paused");
    await handle.pause("stocktaking");
    const { page } = await scene.show("/instances/paused");
    const bodies: { requestId: string; timeoutMs?: number }[] = [];
    await page.route("**/requests/add", async (route) => {
      const body = route.request().postDataJSON() as (typeof bodies)[number];
      bodies.push(body);
      const timeoutMs = bodies.length === 1 ? 0 : 30_000;
      await route.continue({ postData: JSON.stringify({ ...body, timeoutMs }) });
    });
    await waits(page).getByRole("button", { name: "Ask add" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Input").fill('{"sku": "chair", "count": 1}');
    await dialog.getByRole("button", { name: "Ask" }).click();
    await dialog.getByText(/No answer yet: .*: it is paused: stocktaking\./).waitFor();
    const [unread] = (await handle.unread()).items;
    expect(unread).toEqual({
      name: "add",
      data: { sku: "chair", count: 1 },
      requestId: bodies[0]?.requestId,
    });
    await dialog.getByRole("button", { name: "Wait longer" }).click();
    await handle.resume();
    await dialog.getByRole("region", { name: "Answer" }).waitFor();
    expect(bodies[0]?.requestId).toBe(bodies[1]?.requestId);
    expect(await handle.ask(addLine, { sku: "table", count: 1 })).toMatchObject({ lines: 2 });
  });

  test("a request that the code does not serve has a warning, and stays unread", async () => {
    await started("other");
    const { page } = await scene.show("/instances/other?tab=state");
    await page
      .getByRole("toolbar", { name: "Actions" })
      .getByRole("button", { name: "Ask" })
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Request").fill("remove");
    await dialog.getByText('The instance does not serve the request "remove" now.').waitFor();
    await page.route("**/requests/remove", (route) =>
      route.continue({
        postData: JSON.stringify({ ...(route.request().postDataJSON() as object), timeoutMs: 0 }),
      }),
    );
    await dialog.getByRole("button", { name: "Ask" }).click();
    await dialog.getByText("No answer yet:").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    const unread = page.getByRole("region", { name: "Unread events" });
    await unread.getByText("request remove").waitFor();
  });

  test("a viewer sees the requests and cannot ask", async () => {
    await started("viewed");
    const { page } = await scene.show("/instances/viewed", { role: "viewer" });
    const button = waits(page).getByRole("button", { name: "Ask add" });
    await button.waitFor();
    expect(await button.isDisabled()).toBe(true);
  });

  test("asks between instances are in the waiting panel, the timeline and the history", async () => {
    const { client } = scene.world.perdure;
    await started("cart-of-buyer");
    const handle = await client.start(buyer, undefined, { id: "buyer" });
    expect(await handle.ask(buy, "chair")).toBe(1);
    await client.get("cart-of-buyer").pause();
    const soon = { timeout: 0, requestId: "r2" } as const;
    await handle.ask(buy, "table", soon).catch(() => undefined);
    await until(scene.world.perdure, "buyer", ({ waitingFor }) =>
      waitingFor.some(({ kind }) => kind === "ask"),
    );
    const { page, troubles } = await scene.show("/instances/buyer");
    const line = waits(page).getByRole("listitem").filter({ hasText: "the answer to add from" });
    expect(await line.getByRole("link").getAttribute("href")).toBe("#/instances/cart-of-buyer");
    await page.getByRole("button", { name: /^buy, open/ }).waitFor();
    await page.getByRole("button", { name: /^add, completed/ }).click();
    await page.getByRole("region", { name: "ask add" }).getByText("Asked instance").waitFor();
    const keys = await page.locator(".timeline-keys li").allTextContents();
    expect(keys.map((key) => key.trim())).toEqual(
      expect.arrayContaining(["ask", "requests"]) as string[],
    );
    await page.getByRole("tab", { name: "History" }).click();
    const events = page.getByRole("list", { name: "Events" });
    await events.getByText("Requests served").waitFor();
    await events.getByText("from a client").first().waitFor();
    await events.getByText("Request answered").waitFor();
    await page.getByLabel("Kind").selectOption("requests");
    await events.getByText("Ask completed").waitFor();
    expect(await events.getByText("Orchestration started").count()).toBe(0);
    expect(troubles).toEqual([]);
  });
});
