// Layout and accessibility: phones, dark and light, the keyboard, names for screen readers.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { axeFindings } from "./support/axe.ts";
import { useScene } from "./support/scene.ts";
import {
  author,
  basket,
  checkout,
  fulfil,
  go,
  keeper,
  nightly,
  payout,
  poster,
  visitor,
} from "./support/shop.ts";
import { block, until, waitsForEvent } from "./support/world.ts";

const LONG = "a-very-long-id-".repeat(14);

const scene = useScene({}, async (world) => {
  const { client } = world.perdure;
  const order = { id: "o", customer: "c-7", lines: ["chair"] };
  await block(world);
  await client.start(fulfil, order, { id: "order-1" });
  await client.start(checkout, order, { id: "checkout-1" });
  await client.start(poster, "page", { id: "poster-1" });
  await client.start(keeper, { text: "word".repeat(300) }, { id: LONG });
  const failed = await client.start(payout, "DE89".repeat(60), { id: "payout-1" });
  await failed.result().catch(() => undefined);
  await client.start(author, ["word ".repeat(50)], { id: "author-1" });
  await until(world.perdure, "author-1", waitsForEvent);
  await client.get("author-1").raise(go);
  await nightly.apply(client);
  await client.start(visitor, "b".repeat(120), { id: "visitor-1" });
  await client.entity(basket, "k".repeat(120)).add("word".repeat(300));
  for (const id of ["order-1", "checkout-1", LONG, "visitor-1"])
    await until(world.perdure, id, waitsForEvent);
});

const PLACES = [
  "/",
  "/instances",
  "/queues",
  "/queues/render",
  "/schedules",
  "/schedules/nightly",
  "/entities",
  "/entities/basket",
  "/runtimes",
  "/instances/order-1",
  "/instances/order-1?tab=history&event=4",
  "/instances/order-1?tab=family",
  "/instances/checkout-1?tab=flow",
  "/instances/drift-1",
  "/instances/payout-1",
  "/instances/author-1?tab=streams&stream=words",
  "/instances/author-1?tab=logs",
  `/instances/${LONG}?tab=state`,
  `/instances/${LONG}?tab=payload`,
];

async function open(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator(".loading").first().waitFor({ state: "detached" });
}

test("on a phone no page is wider than the screen, and axe finds nothing", async () => {
  const { page, troubles } = await scene.show("/", {
    viewport: { width: 360, height: 740 },
    hasTouch: true,
  });
  const found: string[] = [];
  for (const place of PLACES) {
    await open(page, place);
    const wide = await page.evaluate(
      "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
    );
    expect([place, wide]).toEqual([place, [360, 360]]);
    found.push(...(await axeFindings(page)).map((finding) => `${place}: ${finding}`));
  }
  expect(found).toEqual([]);
  expect(troubles).toEqual([]);
});

test("on a phone the navigation is reachable, and a list opens an instance", async () => {
  const { page } = await scene.show("/", { viewport: { width: 360, height: 740 }, hasTouch: true });
  await page.getByRole("navigation").getByRole("link", { name: "Instances" }).tap();
  await page
    .getByRole("row", { name: /^order-1,/ })
    .getByRole("link")
    .tap();
  await page.getByRole("heading", { level: 1, name: "order-1" }).waitFor();
});

test("pages follow the system's theme, or the user's choice, which persists", async () => {
  const ground = (page: Page): Promise<unknown> =>
    page.evaluate("getComputedStyle(document.body).backgroundColor");
  const light = (await scene.show("/", { colorScheme: "light" })).page;
  expect(await ground(light)).toBe("rgb(246, 247, 249)");
  const { page, troubles } = await scene.show("/", { colorScheme: "dark" });
  expect(await ground(page)).toBe("rgb(14, 17, 22)");
  await page.getByRole("button", { name: "Theme: system. Change to light" }).click();
  expect(await ground(page)).toBe("rgb(246, 247, 249)");
  await page.reload();
  await page.getByRole("button", { name: "Theme: light. Change to dark" }).waitFor();
  expect(await ground(page)).toBe("rgb(246, 247, 249)");
  expect(troubles).toEqual([]);
});

test.each(["light", "dark"] as const)(
  "text has enough contrast in the %s theme",
  async (colorScheme) => {
    const { page } = await scene.show("/", { colorScheme });
    const poor: unknown[] = [];
    for (const place of PLACES) {
      await open(page, place);
      poor.push(...((await page.evaluate(POOR_CONTRAST)) as unknown[]));
    }
    expect(poor).toEqual([]);
  },
);

test("everything clickable has a name and is reachable by keyboard, and axe finds nothing", async () => {
  const { page } = await scene.show("/");
  const wrong: unknown[] = [];
  for (const place of PLACES) {
    await open(page, place);
    wrong.push(...((await page.evaluate(NAMELESS)) as unknown[]));
    wrong.push(...(await axeFindings(page)).map((finding) => `${place}: ${finding}`));
  }
  expect(wrong).toEqual([]);
});

test("focus is visible, moves into dialogs and returns", async () => {
  const { page } = await scene.show("/instances/order-1");
  const pause = page.getByRole("button", { name: "Pause" });
  await pause.focus();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab");
  expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe(
    "solid",
  );
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  expect(await page.evaluate("document.activeElement.closest('dialog') !== null")).toBe(true);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Pause");
});

test("a new page gets the focus, and a link skips the navigation", async () => {
  const { page } = await scene.show("/");
  await page.getByRole("link", { name: "Queues", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Queues" }).waitFor();
  expect(await page.evaluate("document.activeElement.tagName")).toBe("MAIN");
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Queues" }).waitFor();
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.tagName")).toBe("MAIN");
});

test("tabs are one tab stop, and arrow keys move between them", async () => {
  const { page } = await scene.show("/instances/order-1");
  await page.getByRole("tab", { name: "Timeline" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("tab", { name: /^History/, selected: true }).waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("tab", { name: "Timeline", selected: true }).waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("tab", { name: "Parent and children", selected: true }).waitFor();
});

/** Texts with a contrast to their background below 4.5, or below 3 if large (WCAG 2.2, 1.4.3). */
const POOR_CONTRAST = `(() => {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => top.slice(0, 3).map((part, i) => part * top[3] + below[i] * (1 - top[3]));
  const groundOf = (element) => {
    if (element === null) return [255, 255, 255];
    const color = rgba(getComputedStyle(element).backgroundColor);
    return color[3] === 1 ? color.slice(0, 3) : over(color, groundOf(element.parentElement));
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const poor = new Set();
  const walker = document.createTreeWalker(document.querySelector(".shell"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent.trim();
    if (text === "" || !element.checkVisibility() || element.closest(":disabled, .visually-hidden, option, .skip")) continue;
    const style = getComputedStyle(element);
    const ground = groundOf(element);
    const color = over(rgba(style.color), ground);
    const [bright, dim] = [light(color), light(ground)].sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const contrast = (bright + 0.05) / (dim + 0.05);
    if (contrast < (large ? 3 : 4.5)) poor.add(text.slice(0, 30) + " " + contrast.toFixed(2) + " " + element.className);
  }
  return [...poor];
})()`;

/** Clickable elements without a name, or that neither Tab nor an arrow key reaches. */
const NAMELESS = `[...document.querySelectorAll("button, a, input, select, textarea, [role=row]")]
  .filter((one) => one.checkVisibility())
  .filter((one) => {
    const label = one.getAttribute("aria-label") ?? one.textContent.trim();
    const labelled = one.labels !== undefined && one.labels !== null && one.labels.length > 0;
    const reached = one.tabIndex >= 0 || one.closest("[role=grid], [role=tablist]") !== null;
    return (label === "" && !labelled) || !reached;
  })
  .map((one) => one.outerHTML.slice(0, 120))`;
