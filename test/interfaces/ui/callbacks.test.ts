// Callbacks in the dashboard: what an instance waits for from outside, and until when.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { Perdure } from "../../../src/index.ts";
import { useScene } from "./support/scene.ts";
import { callbackTokens, cinema } from "./support/shop.ts";
import { CALLBACKS, until } from "./support/world.ts";

const scene = useScene();
const waits = (page: Page) =>
  page.getByRole("region", { name: "Waiting for" }).getByRole("listitem");

async function started(id: string): Promise<void> {
  callbackTokens.clear();
  await scene.world.perdure.client.start(cinema, undefined, { id });
  await until(scene.world.perdure, id, ({ waitingFor }) =>
    waitingFor.some((wait) => wait.kind === "activity" && wait.completesLater === true),
  );
}
function tokenOf(name: string): string {
  const token = callbackTokens.get(name);
  if (token === undefined) throw new Error(`There is no token of "${name}".`);
  return token;
}

test("open callbacks are shown with their names and expiry, and disappear when they are completed", async () => {
  await started("cinema");
  const { page, troubles } = await scene.show("/instances/cinema");
  const { client } = scene.world.perdure;
  await waits(page)
    .filter({ hasText: /callback paid, open since .*, expires in (2|3) d/ })
    .waitFor();
  await waits(page)
    .filter({ hasText: /callback opened, .*does not expire/ })
    .waitFor();
  const film = waits(page).filter({ hasText: "activity film, attempt 1" });
  await film.getByText(/waits for its completion from outside, times out in/).waitFor();
  await client.complete(tokenOf("opened"), { by: "ada" });
  await waits(page).filter({ hasText: "callback opened" }).waitFor({ state: "detached" });
  await client.complete(tokenOf("film"), "reel");
  await film.waitFor({ state: "detached" });
  await client.complete(tokenOf("paid"), { cents: 5 });
  await page.locator(".instance-head").getByText("completed").waitFor();
  expect(troubles).toEqual([]);
});

test("the timeline and the history show callbacks, and no page shows a token", async () => {
  await started("secret");
  const { page } = await scene.show("/instances/secret", { role: "viewer" });
  const parts = [...callbackTokens.values()].map((token) => token.split(".")[2] ?? "");
  expect(parts.every((part) => part.length > 40)).toBe(true);
  const bodies: Promise<string>[] = [];
  page.on("response", (response) => {
    if (/api\/v1\/(?!changes)/.test(response.url())) bodies.push(response.text().catch(() => ""));
  });
  await page.getByRole("button", { name: /^paid, open/ }).waitFor();
  const keys = await page.locator(".timeline-keys li").allTextContents();
  expect(keys.map((key) => key.trim())).toContain("callback");
  await page.getByRole("tab", { name: "History" }).click();
  const events = page.getByRole("list", { name: "Events" });
  await page.getByLabel("Kind").selectOption("events");
  await events.getByRole("button", { name: /Callback created.*paid/ }).click();
  await events.getByText("Expires").waitFor();
  await page.getByRole("tab", { name: "State" }).click();
  await page.getByRole("region", { name: "Unread events" }).waitFor();
  const texts = [await page.content(), ...(await Promise.all(bodies))];
  expect(texts.length).toBeGreaterThan(3);
  for (const part of parts) expect(texts.some((text) => text.includes(part))).toBe(false);
});

test("a value that the schema refuses is an unread event of its callback, with the reason", async () => {
  await started("refusing-callback");
  // A client that does not know the schema accepts the value, and the worker refuses it.
  const options = { callbacks: CALLBACKS, autoStart: false };
  await using elsewhere = await Perdure.open(scene.world.store, options);
  expect(await elsewhere.client.complete(tokenOf("paid"), { cents: "five" })).toBe("accepted");
  const { page } = await scene.show("/instances/refusing-callback?tab=state");
  const unread = page.getByRole("region", { name: "Unread events" });
  await unread.getByText("callback paid").waitFor();
  await unread.getByText(/cents: Invalid type/).waitFor();
  await waits(page).filter({ hasText: "callback paid" }).waitFor();
});
