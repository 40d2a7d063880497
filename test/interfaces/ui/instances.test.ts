// The list of instances: filters in the address, live rows, bulk actions, the keyboard.

import { expect, test } from "vitest";
import { useScene } from "./support/scene.ts";
import { fulfil, keeper, payout, quick } from "./support/shop.ts";
import { until, waitsForEvent } from "./support/world.ts";

const scene = useScene({}, async ({ perdure }) => {
  const { client } = perdure;
  const order = { id: "o", customer: "c-7", lines: ["chair"] };
  for (const n of [1, 2]) await client.start(fulfil, order, { id: `order-${n}` });
  await client.start(fulfil, { ...order, customer: "c-8" }, { id: "order-3" });
  for (const n of [1, 2, 3]) await client.start(keeper, n, { id: `keeper-${n}` });
  const failed = await client.start(payout, "DE89", { id: "payout-1" });
  await failed.result().catch(() => undefined);
  const tags = { cents: 500, paid: true, due: new Date("2029-06-01") };
  await client.start(quick, 1, { id: "tagged-1", attributes: tags });
  await client.start(quick, 1, {
    id: "tagged-2",
    attributes: { ...tags, cents: 1_000, due: new Date("2031-01-01") },
  });
  for (const id of ["order-1", "order-2", "order-3", "keeper-1", "keeper-2", "keeper-3"]) {
    await until(perdure, id, waitsForEvent);
  }
});

test("one box searches ids, names and attributes of every type; the address contains it", async () => {
  const { page, troubles } = await scene.show("/instances");
  const box = page.getByLabel("Search");
  const finds = async (text: string, ids: readonly string[]): Promise<void> => {
    await box.fill(text);
    const rows = page.getByRole("row");
    await expect
      .poll(async () =>
        (await rows.all()).length === ids.length
          ? (
              await Promise.all(
                (await rows.all()).map((row) => row.getByRole("link").textContent()),
              )
            ).toSorted()
          : null,
      )
      .toEqual(ids);
  };
  await finds("FULF", ["order-1", "order-2", "order-3"]); // a part of the name
  await finds("rder-2", ["order-2"]); // a part of the id
  await finds("c-8", ["order-3"]); // the value of an attribute
  await finds("customer=c-8", ["order-3"]);
  await finds("customer=c-* order", ["order-1", "order-2", "order-3"]);
  await finds("cents>=1000", ["tagged-2"]);
  await finds("cents=500", ["tagged-1"]);
  await finds("due<2030-01-01 paid=true", ["tagged-1"]);
  await expect.poll(() => page.url()).toMatch(/\?q=due%3C2030-01-01\+paid%3Dtrue$/);
  await page.reload();
  await page.getByRole("row", { name: /^tagged-1/ }).waitFor();
  expect(await box.inputValue()).toBe("due<2030-01-01 paid=true");
  await page.getByText("cents=500").waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("row", { name: /^payout-1/ }).waitFor();
  expect(await box.inputValue()).toBe("");
  expect(troubles).toEqual([]);
});

test("the name is chosen from the names of the store, and a time range from a list", async () => {
  const { page, troubles } = await scene.show("/instances");
  await page.getByLabel("Name").selectOption("keeper (3)");
  await expect.poll(() => page.getByRole("row").count()).toBe(3);
  await page.getByLabel("Name").selectOption("all names");
  await page.getByLabel("Time").selectOption("ended in the last hour");
  await page.getByRole("row", { name: /^payout-1, failed/ }).waitFor();
  await page.getByRole("row", { name: /^order-1/ }).waitFor({ state: "detached" });
  await page.getByLabel("Time").selectOption("created between…");
  await page.getByRole("row", { name: /^order-1/ }).waitFor();
  await page.getByLabel("Created after").fill("2199-01-01T00:00");
  await page.getByText("No instance matches").waitFor();
  await page.getByLabel("Time").selectOption("any time");
  await page.getByRole("combobox", { name: "Order" }).selectOption("last ended first");
  await expect
    .poll(() => page.getByRole("row").first().getByRole("link").textContent())
    .toMatch(/^(payout|tagged)/);
  expect(troubles).toEqual([]);
});

test("on a phone the filters are closed at first, and their number is shown", async () => {
  const { page } = await scene.show("/instances?status=failed&name=payout", {
    viewport: { width: 360, height: 740 },
    hasTouch: true,
  });
  await page.getByRole("row", { name: /^payout-1/ }).waitFor();
  expect(await page.getByLabel("Name").isVisible()).toBe(false);
  expect(await page.getByLabel("Search").isVisible()).toBe(true);
  await page.getByRole("button", { name: "Filters (2)", expanded: false }).tap();
  expect(await page.getByLabel("Name").isVisible()).toBe(true);
  await page.getByRole("button", { name: "failed" }).tap();
  await page.getByRole("button", { name: "Filters (1)", expanded: true }).tap();
  expect(await page.getByLabel("Name").isVisible()).toBe(false);
});

test("the address contains the filters for statuses, names, blocks and roots", async () => {
  const { page } = await scene.show("/instances?status=failed&name=payout&root=true");
  await page.getByRole("row", { name: "payout-1, failed, payout" }).waitFor();
  const pressed = page.locator(".chip[aria-pressed=true]");
  expect(await pressed.allTextContents()).toEqual(["failed", "roots only"]);
  await page.getByRole("button", { name: "failed" }).click();
  await page.getByRole("button", { name: "running" }).click();
  await page.getByText("No instance matches").waitFor();
  await expect.poll(() => page.url()).toMatch(/\?name=payout&root=true&status=running$/);
});

test("a row appears and changes without a reload", async () => {
  const { page } = await scene.show("/instances?id=live-");
  await page.getByText("No instance matches").waitFor();
  await scene.world.perdure.client.start(keeper, 1, { id: "live-1" });
  await page.getByRole("row", { name: "live-1, running, keeper" }).waitFor();
  await scene.world.perdure.client.get("live-1").raise("go", 1);
  await page.getByRole("row", { name: "live-1, completed, keeper" }).waitFor();
});

test("a bulk action shows its effect, runs after a confirmation, and reports the result", async () => {
  const { page, troubles } = await scene.show("/instances?name=keeper&status=running");
  const { client } = scene.world.perdure;
  await page.getByRole("row", { name: /^keeper-3/ }).waitFor();
  await page.getByLabel("Select keeper-1").check();
  await page.getByLabel("Select keeper-3").check();
  await page.getByText("2 instances selected").waitFor();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Applies to 2 instances.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  expect((await client.get("keeper-1").describe()).status).toBe("running");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await dialog.getByLabel("Reason").fill("no longer needed");
  await dialog.getByRole("button", { name: "Cancel 2" }).click();
  await page.getByText("Cancel: 2 instances done.").waitFor();
  await expect.poll(() => page.getByRole("row").count()).toBe(1);
  const { status, cancelled } = await client.get("keeper-1").describe();
  expect([status, cancelled]).toMatchObject([
    "cancelled",
    { reason: "no longer needed", by: "ada" },
  ]);
  expect((await client.get("keeper-2").describe()).status).toBe("running");
  expect(troubles).toEqual([]);
});

test("a bulk action on all matches uses the filter, not the rows on the screen", async () => {
  const { page } = await scene.show("/instances?name=fulfil");
  const { client } = scene.world.perdure;
  await page.getByRole("row", { name: /^order-3/ }).waitFor();
  await page.getByLabel("Select all that match").check();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause 3" }).click();
  await page.getByText("Pause: 3 instances done.").waitFor();
  for (const id of ["order-1", "order-2", "order-3"]) {
    expect((await client.get(id).describe()).status).toBe("paused");
  }
  expect((await client.get("keeper-2").describe()).status).toBe("running");
  await page.getByLabel("Select all that match").check();
  await page.getByRole("button", { name: "Terminate", exact: true }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume 3" }).click();
  await page.getByText("Resume: 3 instances done.").waitFor();
});

test("an instance is started from the list, and its page opens", async () => {
  const { page, troubles } = await scene.show("/instances");
  await page.getByRole("button", { name: "Start" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name of the orchestration or flow").fill("keeper");
  await dialog.getByLabel("Id (optional)").fill("made-here");
  await dialog.getByLabel("Input").fill("{ not json");
  expect(await dialog.getByRole("button", { name: "Start" }).isDisabled()).toBe(true);
  await dialog.getByLabel("Input").fill('{"a": [1, 2]}');
  await dialog.getByRole("button", { name: "Start" }).click();
  await page.getByRole("heading", { level: 1, name: "made-here" }).waitFor();
  await until(scene.world.perdure, "made-here", waitsForEvent);
  expect((await scene.world.perdure.client.get("made-here").describe()).customStatus).toEqual({
    a: [1, 2],
  });
  await page.goBack();
  await page.getByRole("button", { name: "Start" }).click();
  await dialog.getByLabel("Name of the orchestration or flow").fill("keeper");
  await dialog.getByLabel("Id (optional)").fill("made-here");
  await dialog.getByRole("button", { name: "Start" }).click();
  await dialog.getByRole("alert").getByText("INSTANCE_EXISTS").waitFor();
  // The browser itself logs the 409 response.
  expect(troubles.filter((trouble) => !trouble.includes("409 (Conflict)"))).toEqual([]);
});

test("keyboard only: to the list, through it, into an instance and back", async () => {
  const { page } = await scene.show("/");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.getByRole("row").first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("order-");
  await expect.poll(() => page.getByRole("row").count()).toBe(3);
  const focused = (): Promise<unknown> =>
    page.evaluate("document.activeElement.getAttribute('aria-label')");
  for (let presses = 0; presses < 40; presses++) {
    if (String(await focused()).startsWith("order-3,")) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("j");
  await expect.poll(focused).toMatch(/^order-2,/);
  await page.keyboard.press("ArrowDown");
  await expect.poll(focused).toMatch(/^order-1,/);
  await page.keyboard.press("x");
  await page.getByText("1 instance selected").waitFor();
  await page.keyboard.press("Home");
  await expect.poll(focused).toMatch(/^order-3,/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "order-3" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await page.getByRole("heading", { name: "Queues", exact: true }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("a viewer sees everything, and the reason why the actions are disabled", async () => {
  const { page } = await scene.show("/instances?id=order-", { role: "viewer" });
  await page.getByRole("row", { name: /^order-1/ }).waitFor();
  expect(await page.getByRole("button", { name: "Start" }).isDisabled()).toBe(true);
  await page.getByLabel("Select order-1").check();
  const cancel = page.getByRole("button", { name: "Cancel", exact: true });
  expect(await cancel.isDisabled()).toBe(true);
  expect(await cancel.getAttribute("title")).toBe("This needs the role operator; yours is viewer.");
});

test("an operator may not delete", async () => {
  const { page } = await scene.show("/instances?id=payout-", { role: "operator" });
  await page.getByLabel("Select payout-1").check();
  expect(await page.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true);
  expect(await page.getByRole("button", { name: "Run again from the start" }).isDisabled()).toBe(
    false,
  );
});

test("when the server stops answering, the page says so and keeps its rows", async () => {
  const { page } = await scene.show("/instances?id=order-");
  await page.getByRole("row", { name: /^order-1/ }).waitFor();
  await page.route("**/api/v1/instances?**", (route) => route.abort());
  await scene.world.perdure.client.start(quick, 1);
  await page.getByRole("alert").getByText("OFFLINE").waitFor();
  expect(await page.getByRole("row").count()).toBe(3);
  await page.unroute("**/api/v1/instances?**");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("alert").waitFor({ state: "detached" });
});
