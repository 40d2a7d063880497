// The tabs with the streams and the log lines of an instance, which show entries as they are written.

import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { lineOf } from "../../../ui/src/instance/streams/log-line.ts";
import { NO_TAIL, nextOffset, withEntries } from "../../../ui/src/instance/streams/tail.ts";
import { openPage } from "./support/browser.ts";
import { openLine } from "./support/line.ts";
import { useScene } from "./support/scene.ts";
import { author, counter, go, quick } from "./support/shop.ts";
import { until, waitsForEvent } from "./support/world.ts";

describe("the tail of a stream", () => {
  const item = (offset: number, call = 1, chars = 1) =>
    ({ kind: "item", offset, call, value: offset, chars }) as const;
  const offsets = ({ rows }: typeof NO_TAIL): number[] => rows.map(({ offset }) => offset);
  const voids = ({ rows }: typeof NO_TAIL): number[] =>
    rows.flatMap((row) => (row.kind === "item" && row.isVoid ? [row.offset] : []));

  test("a reset voids the items of its call from its offset on, and no others", () => {
    const written = withEntries(NO_TAIL, [item(0), item(1, 2), item(2), item(3, 0)]);
    const reset = { kind: "reset", offset: 4, call: 1, from: 2 } as const;
    expect(voids(withEntries(written, [reset, item(5)]))).toEqual([2]);
    expect(voids(withEntries(written, [{ ...reset, from: 0 }, item(5)]))).toEqual([0, 2]);
    expect(voids(written)).toEqual([]);
  });

  test("keeps the newest rows, by number and by size", () => {
    const bounds = { rowsMax: 3, charsMax: 100 };
    const full = withEntries(NO_TAIL, [item(0), item(1), item(2)], bounds);
    expect([full.isFull, full.dropped]).toEqual([true, 0]);
    const next = withEntries(full, [item(3), item(4)], bounds);
    expect([offsets(next), next.dropped, nextOffset(next)]).toEqual([[2, 3, 4], 2, 5]);
    const large = withEntries(next, [item(5, 1, 99)], bounds);
    expect([offsets(large), large.isFull, large.chars]).toEqual([[4, 5], true, 100]);
    expect(offsets(withEntries(large, [item(6, 1, 1_000)], bounds))).toEqual([6]);
  });

  test("takes no further entries when it is full, if it keeps its oldest", () => {
    const bounds = { rowsMax: 3, charsMax: 100, keepsOldest: true };
    const full = withEntries(
      NO_TAIL,
      [0, 1, 2, 3].map((offset) => item(offset)),
      bounds,
    );
    expect([offsets(full), full.isFull, full.dropped]).toEqual([[0, 1, 2], true, 0]);
    expect(offsets(withEntries(full, [item(4), { kind: "end" }], bounds))).toEqual([0, 1, 2]);
    expect(nextOffset(full)).toBe(3);
  });

  test("ends with the stream", () => {
    expect(withEntries(NO_TAIL, [item(0), { kind: "end" }])).toMatchObject({ isOver: true });
    expect(nextOffset(NO_TAIL)).toBeUndefined();
  });
});

test("a log line is read from JSON and from the tagged form, and any other value is shown as JSON", () => {
  const at = Date.UTC(2026, 0, 1);
  const line = { at, level: "warn", message: "low", fields: { drops: 3 } };
  const shown = { at: "2026-01-01T00:00:00.000Z", level: "warn", message: "low" };
  expect(lineOf(line)).toEqual({ ...shown, fields: { drops: 3 } });
  const tagged = { ...line, fields: { at: ["~d", 0] } };
  const fields = { $perdure: { at: ["~d", 0] } };
  expect(lineOf({ $perdure: tagged })).toEqual({ ...shown, fields });
  expect(lineOf({ at: 1e99, level: "loud", message: 5 })).toEqual({
    at: null,
    level: "info",
    message: '{"at":1e+99,"level":"loud","message":5}',
    fields: undefined,
  });
  expect(lineOf(undefined).message).toBe("undefined");
});

const scene = useScene();
const rowsOf = (page: Page): Locator => page.getByRole("list", { name: "Entries" });
const stateOf = (page: Page, text: string): Locator =>
  page.locator(".tail-state", { hasText: text });

async function started(id: string, texts: readonly string[] = ["one", "two"]): Promise<void> {
  await scene.world.perdure.client.start(author, texts, { id });
  await until(scene.world.perdure, id, waitsForEvent);
}
async function next(id: string): Promise<void> {
  await scene.world.perdure.client.get(id).raise(go);
}

describe("the Streams tab", () => {
  test("shows entries as they are written, voided ones after a reset, and the end", async () => {
    await started("author");
    const { page, troubles } = await scene.show("/instances/author");
    await page.getByRole("tab", { name: "Streams" }).click();
    const list = page.getByRole("list", { name: "Streams" });
    await list.getByRole("link", { name: /^perdure.log 2 entries/ }).waitFor();
    await list.getByRole("link", { name: /^words 1 entry/ }).click();
    await rowsOf(page).getByText("title").waitFor();
    await stateOf(page, "Live").waitFor();
    await next("author");
    await rowsOf(page).getByText("two 2").waitFor();
    const texts = await rowsOf(page).getByRole("listitem").allTextContents();
    expect(texts.map((text) => text.match(/title|one \d|two \d|Reset|void/g)?.join(" "))).toEqual([
      "title",
      "one 1 void",
      "two 1 void",
      "Reset void",
      "one 2",
      "two 2",
    ]);
    const struck =
      "getComputedStyle(document.querySelector('[data-void=true] .tail-value')).textDecorationLine";
    expect(await page.evaluate(struck)).toBe("line-through");
    await next("author");
    await rowsOf(page).getByText("the end").waitFor();
    await stateOf(page, "Complete: the stream has ended").waitFor();
    await list.getByRole("link", { name: /^words closed 7 entries/ }).waitFor();
    expect(await page.getByRole("button", { name: "Pause the view" }).count()).toBe(0);
    await rowsOf(page).getByRole("button", { name: /title/ }).click();
    await rowsOf(page).getByRole("button", { name: "Copy entry 0" }).waitFor();
    expect(troubles).toEqual([]);
  });

  test("shows only what successful calls wrote, if the user wants that, also after a reload", async () => {
    await started("settled");
    await next("settled");
    await until(scene.world.perdure, "settled", waitsForEvent);
    const { page } = await scene.show("/instances/settled?tab=streams&stream=words");
    await rowsOf(page).getByText("one 1").waitFor();
    await page.getByLabel("Settled only").check();
    await rowsOf(page).getByText("one 1").waitFor({ state: "detached" });
    await rowsOf(page).getByText("two 2").waitFor();
    expect(await rowsOf(page).getByRole("listitem").count()).toBe(3);
    await page.reload();
    await rowsOf(page).getByText("two 2").waitFor();
    expect(await page.getByLabel("Settled only").isChecked()).toBe(true);
  });

  test("pauses, and continues after the last entry", async () => {
    await started("paused");
    const { page } = await scene.show("/instances/paused?tab=streams&stream=words");
    await rowsOf(page).getByText("title").waitFor();
    const pause = page.getByRole("button", { name: "Pause the view" });
    await pause.click();
    await stateOf(page, "Paused").waitFor();
    await next("paused");
    await page.getByRole("link", { name: /^words 6 entries/ }).waitFor();
    expect(await rowsOf(page).getByRole("listitem").count()).toBe(1);
    await pause.click();
    await rowsOf(page).getByText("two 2").waitFor();
    expect(await rowsOf(page).getByRole("listitem").count()).toBe(6);
  });

  test("continues after the last entry when the connection is back", async () => {
    await started("away");
    await using line = await openLine(scene.world.listening.port);
    const address = scene.world.enter().replace(/:\d+\//, `:${line.port}/`);
    await using watched = await openPage(scene.browser, address);
    const { page } = watched;
    await page.locator(".shell").waitFor();
    await page.evaluate('location.hash = "#/instances/away?tab=streams&stream=words"');
    await rowsOf(page).getByText("title").waitFor();
    await stateOf(page, "Live").waitFor();
    line.cut();
    await stateOf(page, "Connection lost, trying again").waitFor();
    await next("away");
    await until(scene.world.perdure, "away", waitsForEvent);
    line.restore();
    await rowsOf(page).getByText("two 2").waitFor();
    expect(await rowsOf(page).getByText("title").count()).toBe(1);
  });

  test("of a long stream begins with its newest entries, and holds a bounded number", async () => {
    const { client } = scene.world.perdure;
    await client.start(counter, 7_000, { id: "long" });
    await until(scene.world.perdure, "long", waitsForEvent);
    const { page } = await scene.show("/instances/long?tab=streams");
    const entries = rowsOf(page);
    await entries.getByText("6999", { exact: true }).last().waitFor();
    expect(await entries.getByRole("listitem").count()).toBeLessThan(100);
    const shown = async (): Promise<number> =>
      Number(await entries.getByRole("listitem").first().getAttribute("aria-setsize"));
    expect(await shown()).toBe(1_000);
    await page.getByRole("button", { name: "From offset 0" }).click();
    await stateOf(page, "Paused: more entries follow").waitFor();
    expect(await shown()).toBe(5_000);
    await entries.getByText("4999", { exact: true }).waitFor({ state: "detached" });
    await entries.getByText("0", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Newest" }).click();
    await entries.getByText("6999", { exact: true }).last().waitFor();
    await client.get("long").raise(go);
    await entries.getByText("last").waitFor();
    // A user who scrolls up stays there.
    await entries.hover();
    await page.mouse.wheel(0, -2_000);
    const newest = page.getByRole("button", { name: "Newest" });
    await entries.getByText("last").waitFor({ state: "detached" });
    await newest.click();
    await entries.getByText("last").waitFor();
    await page.locator("button:disabled", { hasText: "Newest" }).waitFor();
  });

  test("says why there is nothing to show", async () => {
    await scene.world.perdure.client.start(quick, 1, { id: "quick-streams" });
    const { page } = await scene.show("/instances/quick-streams?tab=streams");
    await page.getByText("No streams").waitFor();
    await started("refused-offset");
    await page.evaluate(
      'location.hash = "#/instances/refused-offset?tab=streams&stream=words&settled=true"',
    );
    await rowsOf(page).getByText("title").waitFor();
    await page.route("**/streams/words?*", (route) =>
      route.fulfill({
        status: 503,
        contentType: "application/problem+json",
        body: JSON.stringify({ code: "STREAMS_EXHAUSTED", detail: "Too many streams are open." }),
      }),
    );
    await page.getByLabel("Settled only").uncheck();
    await page.getByRole("alert").getByText("Too many streams are open.").waitFor();
    await stateOf(page, "Stopped").waitFor();
    await page.unroute("**/streams/words?*");
    await page.getByRole("button", { name: "Try again" }).click();
    await rowsOf(page).getByText("title").waitFor();
  });
});

describe("the Logs tab", () => {
  const lines = (page: Page): Locator => page.getByRole("list", { name: "Log lines" });

  test("shows lines as they are written, and marks those of an earlier run", async () => {
    await started("logs");
    const { page, troubles } = await scene.show("/instances/logs");
    await page.getByRole("tab", { name: "Logs" }).click();
    await lines(page).getByText("the ink is low").waitFor();
    await lines(page).getByText("drops: 3").waitFor();
    await next("logs");
    await lines(page).getByText("attempt 2 writes").waitFor();
    await lines(page).getByText("runs again. Its lines above are of an earlier run.").waitFor();
    const first = lines(page).getByRole("listitem").filter({ hasText: "attempt 1 writes" });
    await first.getByText("earlier run").waitFor();
    await first.getByText("1970").waitFor(); // a date, not its tagged form
    expect(await first.getByText("info", { exact: true }).count()).toBe(1);
    expect(troubles).toEqual([]);
  });

  test("shows only lines of the chosen level or above", async () => {
    await started("levels");
    const { page } = await scene.show("/instances/levels?tab=logs");
    await lines(page).getByText("the paper is ready").waitFor();
    await page.getByLabel("Lowest level").selectOption("warn");
    await lines(page).getByText("the paper is ready").waitFor({ state: "detached" });
    await lines(page).getByText("the ink is low").waitFor();
    await page.getByLabel("Lowest level").selectOption("error");
    await page.getByText("No lines of level error or above").waitFor();
    expect(page.url()).toContain("level=error");
    await page.getByRole("tab", { name: "Streams" }).click();
    expect(page.url()).not.toContain("level=");
  });

  test("says how to keep lines if there are none", async () => {
    await scene.world.perdure.client.start(quick, 1, { id: "quick-logs" });
    const { page } = await scene.show("/instances/quick-logs?tab=logs");
    await page.getByText("log: { stream: true }").waitFor();
  });

  test("fits a phone", async () => {
    await started("phone", ["a word ".repeat(40)]);
    await next("phone");
    const viewport = { width: 390, height: 800 };
    const { page } = await scene.show("/instances/phone?tab=logs", { viewport });
    await lines(page).getByText("attempt 2 writes").waitFor();
    const isWide = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
    expect(await page.evaluate(isWide)).toBe(false);
    await page.getByRole("tab", { name: "Streams" }).click();
    await page.getByRole("link", { name: /^words/ }).click();
    await rowsOf(page).getByText("title").waitFor();
    expect(await page.evaluate(isWide)).toBe(false);
  });
});
