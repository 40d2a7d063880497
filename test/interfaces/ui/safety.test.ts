// S14 to S16: users' data is shown as text on every page, and the page sends requests only to its own server.

import { expect, test } from "vitest";
import { activity, orchestration, Perdure } from "../../../src/index.ts";
import { HOSTILE, HOSTILE_IDS } from "./support/hostile.ts";
import { useScene } from "./support/scene.ts";
import { keeper } from "./support/shop.ts";
import { until, waitsForEvent } from "./support/world.ts";

const evil = HOSTILE[1] ?? "";

/** Puts a hostile string wherever a user can put one. */
const hostile = orchestration(`hostile ${evil}`, async (ctx, text: string) => {
  ctx.setStatus({ [text]: text, list: [text] });
  ctx.kv.set("key", { [text]: text });
  ctx.setAttributes({ attribute: text.slice(0, 60) });
  ctx.stream(`stream ${evil}`).write({ [text]: text });
  ctx.log.warn(text, { [text]: text });
  await ctx.step(`step ${evil}`, () => text);
  await ctx.all([
    ctx.waitFor(`event ${evil}`, { details: text }),
    ctx.run(`activity ${evil}`, text, { tags: [`tag ${evil}`] }),
    ctx.sleep("1d"),
  ]);
});
const throwing = orchestration("throwing", async (_ctx, text: string) => {
  throw Object.assign(new Error(text, { cause: new Error(`cause ${text}`) }), {
    name: text,
    [text]: text,
  });
});
const returning = orchestration("returning", async (_ctx, text: string) => ({ [text]: [text] }));
const harmless = activity("harmless", async () => undefined);

const held: { runtime?: Perdure } = {};
const scene = useScene(
  { limits: { sampleMs: 100, perSecond: 10_000, burst: 20_000 } },
  async ({ perdure }) => {
    held.runtime = await Perdure.open(perdure.provider, {
      register: [hostile, throwing, returning, harmless],
      runtime: { log: { sink: () => undefined, stream: true }, workerNodeId: `node ${evil}` },
    });
    const { client } = held.runtime;
    await Promise.all(
      HOSTILE_IDS.map((text, index) =>
        client.start(index % 2 === 0 ? returning : throwing, text, { id: text }),
      ),
    );
    await Promise.all(
      HOSTILE.map((text, index) => client.start(hostile, text, { id: `hostile-${index}` })),
    );
    for (const index of HOSTILE.keys()) await until(perdure, `hostile-${index}`, waitsForEvent);
    await client.get("hostile-0").pause({ reason: evil, by: evil });
    await client.get("hostile-1").cancel({ reason: evil, by: evil });
  },
);

test("there are more than sixty hostile strings", () => {
  expect(new Set(HOSTILE).size).toBeGreaterThan(60);
});

test("no page executes, requests or renders anything from hostile strings", async () => {
  const { page, troubles } = await scene.show("/");
  const places = [
    "/",
    "/queues",
    "/runtimes",
    "/instances",
    "/instances?name=throwing",
    `/instances?id=${encodeURIComponent(evil)}&attribute=${encodeURIComponent(`x=${evil}`)}&name=${encodeURIComponent(evil)}`,
    `/${encodeURIComponent(evil)}`,
    `/instances/${encodeURIComponent(`${evil} missing`)}`,
  ];
  for (const place of places) {
    await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`);
    await page.getByRole("heading", { level: 1 }).or(page.locator(".empty")).first().waitFor();
    await page.locator(".loading").first().waitFor({ state: "detached" });
  }
  expect(await page.evaluate("globalThis.__ran")).toBeUndefined();
  // The browser itself logs the 404 response for the missing instance.
  expect(troubles.filter((trouble) => !trouble.includes("404 (Not Found)"))).toEqual([]);
});

test("no tab of an instance page executes, requests or renders anything from a hostile string", async () => {
  const { page, troubles } = await scene.show("/");
  const tabs = ["timeline", "history", "payload", "state", "family", "streams", "logs"];
  for (const [index, text] of HOSTILE.entries()) {
    const tab = tabs[index % tabs.length];
    await page.evaluate(`location.hash = "#/instances/hostile-${index}?tab=${tab}&event=5"`);
    await page.getByRole("heading", { level: 1, name: `hostile-${index}` }).waitFor();
    await page.getByRole("tabpanel").waitFor();
    if (tab === "streams" || tab === "logs") {
      const rows = page.locator(".tail").getByRole("listitem");
      if (tab === "streams") await page.getByRole("link", { name: /^stream / }).click();
      await rows.getByRole("button").first().click();
      await rows.locator(".value").waitFor();
    }
    if (tab === "state") {
      const status = page.getByRole("region", { name: "Custom status" });
      await status
        .getByText(JSON.stringify(text))
        .first()
        .or(status.getByRole("link"))
        .first()
        .waitFor();
    }
  }
  expect(await page.evaluate("globalThis.__ran")).toBeUndefined();
  expect(troubles).toEqual([]);
});

test("a hostile id is shown unchanged, and its page works", async () => {
  const { page, troubles } = await scene.show("/");
  for (const id of HOSTILE_IDS) {
    await page.evaluate(
      `location.hash = "#/instances/" + encodeURIComponent(${JSON.stringify(id)})`,
    );
    await expect.poll(() => page.getByRole("heading", { level: 1 }).textContent()).toBe(id);
    await page.locator(".instance-head .badge").first().waitFor();
  }
  expect(await page.evaluate("globalThis.__ran")).toBeUndefined();
  expect(troubles).toEqual([]);
});

test("only http and https addresses become links, and links send no referrer", async () => {
  const { client } = scene.world.perdure;
  const addresses = [...HOSTILE, "https://example.com/a?b=c", "http://example.com"];
  await client.start(keeper, addresses, { id: "addresses" });
  await until(scene.world.perdure, "addresses", waitsForEvent);
  const { page } = await scene.show("/instances/addresses?tab=state");
  const status = page.getByRole("region", { name: "Custom status" });
  await status.locator(".value-toggle").click();
  await expect.poll(() => status.locator(".value-parts > li").count()).toBe(addresses.length);
  const links = await status
    .locator("a")
    .evaluateAll((all) =>
      all.map((one) => [
        one.getAttribute("href"),
        one.getAttribute("rel"),
        one.getAttribute("target"),
      ]),
    );
  const rest = ["noopener noreferrer", "_blank"];
  expect(links).toEqual([
    ["https://evil.example/%22onmouseover=%22globalThis.__ran=1", ...rest],
    ["https://evil.example/%E2%80%AEgnp.exe", ...rest],
    ["https://example.com/a?b=c", ...rest],
    ["http://example.com/", ...rest],
  ]);
});

test("the content security policy is strict, and no page needs more", async () => {
  const { listening } = scene.world;
  const response = await fetch(listening.url, { headers: { Accept: "text/html" } });
  expect(response.headers.get("content-security-policy")).toContain("default-src 'self'");
  expect(response.headers.get("content-security-policy")).not.toMatch(/unsafe|\*|https?:/);
  expect(await response.text()).not.toMatch(/<script>|<style|style=|onload=/);
  await held.runtime?.close({ graceMs: 0 });
});
