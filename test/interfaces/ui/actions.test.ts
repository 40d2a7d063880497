// Every action on an instance page, from the button to the store.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { InstanceInfo } from "../../../src/index.ts";
import { useScene } from "./support/scene.ts";
import { fulfil, keeper, refund } from "./support/shop.ts";
import { block, until, waitsForEvent } from "./support/world.ts";

describe("a user with the required role", () => {
  const scene = useScene({}, block);
  const order = { id: "o", customer: "c-7", lines: ["chair"] };

  async function waiting(id: string): Promise<void> {
    await scene.world.perdure.client.start(keeper, "kept", { id });
    await until(scene.world.perdure, id, waitsForEvent);
  }
  function describeOf(id: string): Promise<InstanceInfo> {
    return scene.world.perdure.client.get(id).describe();
  }
  async function ask(page: Page, action: string, reason?: string): Promise<void> {
    await page
      .getByRole("toolbar", { name: "Actions" })
      .getByRole("button", { name: action })
      .click();
    const dialog = page.getByRole("dialog");
    if (reason !== undefined) await dialog.getByLabel("Reason").fill(reason);
    await dialog.getByRole("button", { name: action }).click();
    await dialog.waitFor({ state: "detached" });
  }
  async function sees(page: Page, status: string): Promise<void> {
    await page.locator(`.instance-head .badge[data-status=${status}]`).waitFor();
  }

  test("raises the event that the instance waits for, with data, and sees it end", async () => {
    await scene.world.perdure.client.start(fulfil, order, { id: "raise" });
    await until(scene.world.perdure, "raise", waitsForEvent);
    const { page, troubles } = await scene.show("/instances/raise");
    await page.getByRole("button", { name: "Raise approval" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The instance waits for this event.").waitFor();
    await dialog.getByLabel("Data").fill('{"by": "ada"}');
    await dialog.getByRole("button", { name: "Raise" }).click();
    await page.getByText('Raised "approval".').waitFor();
    await sees(page, "completed");
    expect((await describeOf("raise")).output).toMatchObject({ status: "shipped" });
    expect(troubles).toEqual([]);
  });

  test("raises an event that the instance does not wait for: both dialog and message say what it waits for", async () => {
    await waiting("other-event");
    const { page } = await scene.show("/instances/other-event?tab=state");
    await page.getByRole("button", { name: "Raise event" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("later");
    const warning =
      'other-event does not wait for the event "later" now. It waits for the event "go". ' +
      '"later" stays unread until the code waits for it.';
    await dialog.getByText(warning).waitFor();
    await dialog.getByRole("button", { name: "Raise" }).click();
    await page.getByText(`Raised "later". ${warning}`).waitFor();
    await page.getByRole("region", { name: "Unread events" }).getByText("later").first().waitFor();
  });

  test("pauses with a reason, and resumes", async () => {
    await waiting("pause");
    const { page, troubles } = await scene.show("/instances/pause");
    await ask(page, "Pause", "stock-taking");
    await page.getByText(/Paused .* by ada: stock-taking/).waitFor();
    expect((await describeOf("pause")).paused).toMatchObject({ reason: "stock-taking", by: "ada" });
    await ask(page, "Resume");
    await sees(page, "running");
    expect((await describeOf("pause")).paused).toBeUndefined();
    expect(troubles).toEqual([]);
  });

  test("cancels with a reason", async () => {
    await waiting("cancel");
    const { page } = await scene.show("/instances/cancel");
    await ask(page, "Cancel", "customer called");
    await page.getByText("Cancellation requested.").waitFor();
    await sees(page, "cancelled");
    const note = "Cancelled by ada: customer called Open at that time: event go.";
    await page.getByText(`${note} The cleanup is complete.`).waitFor();
    expect((await describeOf("cancel")).status).toBe("cancelled");
  });

  test("terminates an instance, and runs an ended one again from the start", async () => {
    await waiting("terminate");
    const { page } = await scene.show("/instances/terminate");
    await ask(page, "Terminate", "stuck");
    await sees(page, "terminated");
    await ask(page, "Run again from the start");
    await sees(page, "running");
    expect(await describeOf("terminate")).toMatchObject({ status: "running", execution: 2 });
  });

  test("before a failed instance runs again from the start, the dialog names the work that will be repeated", async () => {
    const failed = await scene.world.perdure.client.start(refund, order, { id: "retry" });
    await failed.result().catch(() => undefined);
    const { page } = await scene.show("/instances/retry");
    const actions = page.getByRole("toolbar", { name: "Actions" });
    await actions.getByRole("button", { name: "Run again from the start" }).click();
    const dialog = page.getByRole("dialog", { name: "Run retry again from the start?" });
    const work = dialog.getByRole("list", { name: "Completed work that will run again" });
    expect(await work.getByRole("listitem").allTextContents()).toEqual([
      "activity charge, 2 times",
      "step book",
    ]);
    await dialog.getByRole("button", { name: "Close" }).click();
    expect((await describeOf("retry")).execution).toBe(1);
    await ask(page, "Run again from the start");
    await page.locator(".facts > div", { hasText: /^Execution2$/ }).waitFor();
    await expect.poll(async () => (await describeOf("retry")).execution).toBe(2);
  });

  test("unblocks an instance, and code that still differs blocks it again", async () => {
    const since = (await describeOf("drift-1")).blocked?.since.getTime() ?? 0;
    const { page } = await scene.show("/instances/drift-1");
    await ask(page, "Unblock");
    await page.getByText("Unblocked.").waitFor();
    await expect
      .poll(async () => (await describeOf("drift-1")).blocked?.since.getTime())
      .toBeGreaterThan(since);
  });

  test("forks from an event of the history, and lands on the new instance", async () => {
    await waiting("fork");
    const { page, troubles } = await scene.show("/instances/fork?tab=history&event=4");
    await page.getByRole("button", { name: "Fork from here" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByLabel("Before event number").inputValue()).toBe("4");
    await dialog.getByLabel("Id of the new instance").fill("forked");
    await dialog.getByRole("button", { name: "Fork" }).click();
    await page.getByRole("heading", { level: 1, name: "forked" }).waitFor();
    await until(scene.world.perdure, "forked", waitsForEvent);
    expect(await describeOf("fork")).toMatchObject({ status: "running" });
    expect(troubles).toEqual([]);
  });

  test("deletes a live instance only after its id was typed", async () => {
    await waiting("delete");
    const { page } = await scene.show("/instances/delete");
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    const confirm = dialog.getByRole("button", { name: "Delete" });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByRole("textbox").fill("delete");
    await confirm.click();
    await page.getByText("Deleted delete.").waitFor();
    expect(await scene.world.perdure.client.get("delete").exists()).toBe(false);
  });

  test("sees the reason of a refusal, and can correct the input", async () => {
    await waiting("refused");
    const { page } = await scene.show("/instances/refused?tab=history&event=4");
    await page.getByRole("button", { name: "Fork from here" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Id of the new instance").fill("refused");
    await dialog.getByRole("button", { name: "Fork" }).click();
    await dialog.getByRole("alert").getByText("INSTANCE_EXISTS").waitFor();
    await dialog.getByLabel("Id of the new instance").fill("another");
    await dialog.getByRole("button", { name: "Fork" }).click();
    await page.getByRole("heading", { level: 1, name: "another" }).waitFor();
  });

  test("an operator may not delete, and the page names the role that may", async () => {
    await waiting("kept");
    const { page } = await scene.show("/instances/kept", { role: "operator" });
    const actions = page.getByRole("toolbar", { name: "Actions" });
    await actions.getByText("Delete needs the role admin; yours is operator.").waitFor();
    expect(await actions.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true);
    expect(await actions.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(false);
    expect(await actions.locator(".hint").count()).toBe(1);
  });

  test("a viewer sees all actions disabled, with the roles that they need", async () => {
    await waiting("looked-at");
    const { page } = await scene.show("/instances/looked-at?tab=history&event=4", {
      role: "viewer",
    });
    const buttons = page.getByRole("toolbar", { name: "Actions" }).getByRole("button");
    await buttons.first().waitFor();
    const open = await buttons.evaluateAll((all) =>
      all.filter((one) => !one.hasAttribute("disabled")),
    );
    expect(open).toEqual([]);
    await page.getByText("Every action needs the role operator; yours is viewer.").waitFor();
    await page.getByText("Delete needs the role admin; yours is viewer.").waitFor();
    expect(await page.getByRole("button", { name: "Raise go" }).isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: "Fork from here" }).isDisabled()).toBe(true);
  });
});

describe("a read-only server", () => {
  const scene = useScene({ readOnly: true });

  test("disables every action for every role, and says so", async () => {
    const { page } = await scene.show("/instances/drift-1");
    await page.getByText("The server is read-only.").waitFor();
    expect(await page.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
    await page.getByText("ada · read-only").waitFor();
  });
});
