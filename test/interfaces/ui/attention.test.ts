// What the dashboard brings to an operator's attention: no worker, grouped errors, retries, an empty store.

import { expect, onTestFinished, test } from "vitest";
import { orchestration, Perdure } from "../../../src/index.ts";
import { createToken, serve } from "../../../src/server/index.ts";
import { openPage, type Watched } from "./support/browser.ts";
import { builtUi } from "./support/built-ui.ts";
import { useScene } from "./support/scene.ts";
import { fulfil, refund, stubborn } from "./support/shop.ts";
import { block, until, waitsForEvent } from "./support/world.ts";

const order = { id: "o-0", customer: "c-7", lines: ["chair"] };

const scene = useScene({}, async (world) => {
  const { client } = world.perdure;
  await block(world);
  for (const n of [1, 2, 3]) {
    const failing = await client.start(refund, { ...order, id: `o-${n}` }, { id: `refund-${n}` });
    await failing.result().catch(() => undefined);
  }
  await client.start(stubborn, "DE89", { id: "stubborn-1" });
  await until(
    world.perdure,
    "stubborn-1",
    ({ waitingFor }) =>
      waitingFor.length === 2 &&
      waitingFor.every((wait) => "attempt" in wait && wait.attempt === 5),
  );
  await client.start(fulfil, order, { id: "order-1" });
  await until(world.perdure, "order-1", waitsForEvent);
});

test("failed instances with one cause are one line with a count and a link to their list", async () => {
  const { page, troubles } = await scene.show("/");
  const attention = page.getByRole("region", { name: "Needs attention" });
  const row = attention.getByRole("listitem").filter({ hasText: "failed" });
  await row.getByText("3 failed: refund 1.0.0, Error").waitFor();
  await row.getByText("order o-3 cannot be refunded").waitFor();
  await row.getByRole("link", { name: "refund-3" }).waitFor();
  expect(await row.count()).toBe(1);
  await row.getByRole("link", { name: "3 failed" }).click();
  await expect.poll(() => page.getByRole("row").count()).toBe(3);
  expect(page.url()).toMatch(/#\/instances\?status=failed&name=refund&version=1\.0\.0$/);
  expect(troubles).toEqual([]);
});

test("retried work shows its attempt and its last error, for an activity and a step", async () => {
  const { page, troubles } = await scene.show("/instances/stubborn-1");
  const waiting = page.getByRole("region", { name: "Waiting for" });
  for (const what of ["activity settle", "step book"]) {
    const row = waiting.getByRole("listitem").filter({ hasText: what });
    await row.getByText(`${what}, retrying, attempt 5 next attempt in`).waitFor();
    await row.getByText("Last error: the bank is closed").waitFor();
  }
  await page.getByRole("button", { name: /^book, open, .*, retrying, attempt 5$/ }).click();
  const detail = page.getByRole("region", { name: "step book" });
  await detail.getByText("Last error: the bank is closed").waitFor();
  expect(troubles).toEqual([]);
});

test("the custom status is shown under the title", async () => {
  const { page } = await scene.show("/instances/order-1");
  const status = page.getByLabel("Custom status");
  await expect.poll(() => status.textContent()).toContain('phase: "waiting for approval"');
  const title = await page.getByRole("heading", { level: 1 }).boundingBox();
  const box = await status.boundingBox();
  expect((box?.y ?? 0) - ((title?.y ?? 0) + (title?.height ?? 0))).toBeLessThan(40);
});

async function openStore(perdure: Perdure): Promise<Watched> {
  const { token, entry } = createToken({ name: "ada", role: "admin" });
  const listening = await serve(perdure.client, {
    port: 0,
    ui: await builtUi(),
    tokens: [entry],
    log: () => undefined,
  });
  onTestFinished(() => listening.close());
  const watched = await openPage(scene.browser, `${listening.url}/#token=${token}`);
  onTestFinished(() => watched[Symbol.asyncDispose]());
  return watched;
}

test("while no worker runs, every page has a red banner with the command that starts one", async () => {
  const hello = orchestration("hello", async () => "hello");
  await using perdure = await Perdure.open("sqlite::memory:", {
    register: [hello],
    runtime: { log: () => undefined },
    autoStart: false,
  });
  await perdure.client.start(hello, undefined, { id: "hello-1" });
  const { page, troubles } = await openStore(perdure);
  const banner = page.getByRole("alert").filter({ hasText: "No worker is running." });
  for (const place of ["/", "/instances", "/queues", "/runtimes", "/instances/hello-1"]) {
    await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await banner.getByText("npx perdure worker").waitFor();
    const top = (await page.getByRole("heading", { level: 1 }).boundingBox())?.y ?? 0;
    expect((await banner.boundingBox())?.y ?? Infinity).toBeLessThan(top);
  }
  await perdure.runtime.start();
  await banner.waitFor({ state: "detached" });
  expect(troubles).toEqual([]);
});

test("an empty store shows how to start the first instance, with the names that a worker registers", async () => {
  const hello = orchestration("hello", async () => "hello");
  await using idle = await Perdure.open("sqlite::memory:", { autoStart: false });
  const { page } = await openStore(idle);
  const first = page.getByRole("region", { name: "Start the first instance" });
  await first.getByText(`npx perdure start hello --input '"Ada"'`).waitFor();
  await first.getByText("npx perdure worker").waitFor();
  await page.getByRole("link", { name: "Instances" }).click();
  await first.waitFor();

  await using ready = await Perdure.open("sqlite::memory:", {
    register: [hello],
    runtime: { log: () => undefined },
  });
  const other = await openStore(ready);
  await other.page.getByText("npx perdure start hello", { exact: true }).waitFor();
  await (await ready.client.start(hello)).result();
  await other.page
    .getByText("Nothing is blocked or failed, and every task has a worker.")
    .waitFor();
});
