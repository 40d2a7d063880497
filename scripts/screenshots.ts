// Takes the screenshots of the dashboard in the docs: `npm run screenshots` writes docs/images/.
// A real browser on a real server with real work, as in test/interfaces/ui; it runs for half a minute first, so that the charts
// have data. `npm run screenshots -- trouble` takes only those whose name contains the word.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { openBrowser, openPage } from "../test/interfaces/ui/support/browser.ts";
import {
  approval,
  checkout,
  fulfil,
  keeper,
  mall,
  nightly,
  payout,
  poster,
  sale,
  truck,
} from "../test/interfaces/ui/support/shop.ts";
import { builtUi } from "../test/interfaces/ui/support/built-ui.ts";
import { serve } from "../src/server/index.ts";
import { openTroubledStore } from "./troubled-store.ts";
import {
  block,
  openWorld,
  until,
  waitsForEvent,
  type World,
} from "../test/interfaces/ui/support/world.ts";

const ROOT = join(import.meta.dirname, "..");
const FOLDER = join(ROOT, "docs", "images");
const WORK_MS = 30_000;
const BYTES_MAX = 100_000;
const QUALITY = 0.82;
const WIDE = { width: 1280, height: 820 };
const PHONE = { width: 390, height: 780 };

type Theme = "light" | "dark";
interface Picture {
  readonly name: string;
  readonly place: string;
  readonly themes: readonly Theme[];
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Waits before the screenshot is taken, and performs further actions on the page. */
  readonly ready: (page: Page) => Promise<void>;
}

const PICTURES: readonly Picture[] = [
  {
    name: "dashboard-overview",
    place: "/",
    themes: ["light", "dark"],
    ready: (page) => page.locator(".chart-canvas canvas").nth(1).waitFor(),
  },
  {
    name: "dashboard-instances",
    place: "/instances?root=true&order=oldest",
    themes: ["light"],
    ready: (page) => page.getByRole("row").nth(8).waitFor(),
  },
  {
    name: "dashboard-timeline",
    place: "/instances/order-7",
    themes: ["light", "dark"],
    ready: async (page) => {
      await page.getByRole("button", { name: /^invoice, completed/ }).waitFor();
      await page.locator(".gantt-rows").click({ position: { x: 640, y: 90 } });
      await page.mouse.move(0, 0);
      await page.locator(".moment-state .value-brief").waitFor();
    },
  },
  {
    name: "dashboard-flow",
    place: "/instances/checkout-1?tab=flow",
    themes: ["light"],
    viewport: { width: 1280, height: 1240 },
    ready: async (page) => {
      await page.getByRole("button", { name: /^approval, wait, waiting/ }).waitFor();
      await page.getByRole("button", { name: "Zoom out" }).click();
    },
  },
  {
    name: "dashboard-blocked",
    place: "/instances/drift-1",
    themes: ["light"],
    ready: (page) => page.getByText("− History holds").waitFor(),
  },
  {
    name: "dashboard-retry",
    place: "/instances/sale-1",
    themes: ["light"],
    ready: preview,
  },
  {
    name: "dashboard-retry-phone",
    place: "/instances/sale-1",
    themes: ["dark"],
    viewport: PHONE,
    ready: preview,
  },
  {
    name: "dashboard-repaired",
    place: "/instances/sale-2",
    themes: ["light"],
    viewport: { width: 1280, height: 1000 },
    ready: (page) => page.getByRole("button", { name: /^pay, completed, replaced/ }).click(),
  },
  {
    name: "dashboard-schedule",
    place: "/schedules/nightly",
    themes: ["light"],
    ready: (page) => page.getByRole("row", { name: /completed nightly/ }).waitFor(),
  },
  {
    name: "dashboard-instances-phone",
    place: "/instances?status=running&root=true",
    themes: ["light"],
    viewport: PHONE,
    ready: (page) => page.getByRole("row").nth(4).waitFor(),
  },
  {
    name: "dashboard-phone",
    place: "/instances/order-7",
    themes: ["dark"],
    viewport: PHONE,
    ready: (page) => page.getByRole("button", { name: /^invoice, completed/ }).waitFor(),
  },
];

/** The last one: it changes the store. */
const BULK_PICTURE: Picture = {
  name: "dashboard-bulk-retry",
  place: "/instances?status=failed&name=sale",
  themes: ["light"],
  ready: async (page) => {
    await page.getByRole("row").nth(4).waitFor();
    await page.getByLabel("Select all that match").check();
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await page.getByLabel("Reason").fill("bad deploy");
    await page.getByRole("button", { name: /^Retry \d/ }).click();
    await page.getByText(/\d+ instances done, 1 refused/).waitFor();
  },
};

const TROUBLED_PICTURES: readonly Picture[] = [
  {
    name: "dashboard-trouble",
    place: "/",
    themes: ["light", "dark"],
    viewport: { width: 1280, height: 1060 },
    ready: chartsAndBlocked,
  },
  {
    name: "dashboard-trouble-phone",
    place: "/",
    themes: ["light"],
    viewport: { width: 390, height: 1400 },
    ready: chartsAndBlocked,
  },
  {
    name: "dashboard-failed",
    place: "/instances?status=failed",
    themes: ["light"],
    ready: (page) => page.getByRole("row").nth(8).waitFor(),
  },
  {
    name: "dashboard-failed-phone",
    place: "/instances?status=failed",
    themes: ["dark"],
    viewport: PHONE,
    ready: (page) => page.getByRole("row").nth(4).waitFor(),
  },
  {
    name: "dashboard-retrying",
    place: "/instances/settlement-1",
    themes: ["light"],
    ready: (page) =>
      page
        .getByRole("button", { name: /retrying, attempt 5/ })
        .first()
        .waitFor(),
  },
];

const asked = process.argv[2] ?? "";
const wanted = [...PICTURES, BULK_PICTURE].filter(({ name }) => name.includes(asked));
const troubled = TROUBLED_PICTURES.filter(({ name }) => name.includes(asked));
await using browser = await openBrowser();
mkdirSync(FOLDER, { recursive: true });
if (wanted.length > 0) await takeShop(wanted);
if (troubled.length > 0) await takeTroubled(troubled);

async function preview(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await page.getByText("The registered code replays this past.").waitFor();
}

async function chartsAndBlocked(page: Page): Promise<void> {
  await page.getByText("41 blocked").waitFor();
  await page.locator(".chart-canvas canvas").nth(2).waitFor();
}

async function takeShop(pictures: readonly Picture[]): Promise<void> {
  await using world = await openWorld({
    limits: { sampleMs: 500, perSecond: 1_000, burst: 2_000 },
  });
  await work(world);
  await takeAll(pictures, world.enter());
}

async function takeTroubled(pictures: readonly Picture[]): Promise<void> {
  await using store = await openTroubledStore();
  await using listening = await serve(store.perdure.client, {
    port: 0,
    ui: await builtUi(),
    limits: { sampleMs: 500, perSecond: 1_000, burst: 2_000 },
    log: () => undefined,
  });
  await pause(3_000); // for the first samples
  await takeAll(pictures, `${listening.url}/#token=${listening.token ?? ""}`);
}

async function takeAll(pictures: readonly Picture[], address: string): Promise<void> {
  for (const picture of pictures) {
    for (const theme of picture.themes) await take(browser, picture, theme, address);
  }
}

async function take(from: Browser, picture: Picture, theme: Theme, address: string): Promise<void> {
  await using watched = await openPage(from, "about:blank", {
    colorScheme: theme,
    viewport: picture.viewport ?? WIDE,
    reducedMotion: "reduce",
  });
  const { page } = watched;
  await page.route("**/api/v1/**", async (route) => {
    if (route.request().url().endsWith("/changes")) return route.continue();
    const response = await route.fetch();
    const body = (await response.text())
      .replaceAll(pathToFileURL(ROOT).href, "file:///app")
      .replaceAll("/test/interfaces/ui/support/", "/src/"); // the path that an application would have
    return route.fulfill({ response, body });
  });
  await page.goto(address);
  await page.locator(".shell").waitFor();
  await page.evaluate(`location.hash = ${JSON.stringify(`#${picture.place}`)}`);
  await picture.ready(page);
  const path = join(FOLDER, `${picture.name}-${theme}.webp`);
  const bytes = await webp(from, await page.screenshot({ animations: "disabled" }));
  if (bytes.length > BYTES_MAX) throw new Error(`${path} has more than ${BYTES_MAX} bytes.`);
  writeFileSync(path, bytes);
  console.log(`${path.slice(ROOT.length + 1)}  ${Math.round(bytes.length / 1_000)} kB`);
}

/** The package contains the docs: WebP takes a third of the bytes and looks the same. The browser can convert. */
async function webp(by: Browser, png: Buffer): Promise<Buffer> {
  const page = await by.newPage();
  const address: unknown = await page.evaluate(`(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${png.toString("base64")}";
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", ${QUALITY});
  })()`);
  await page.close();
  return Buffer.from(String(address).replace(/^data:image\/webp;base64,/, ""), "base64");
}

/** Orders in every state that the dashboard shows. */
async function work(of: World): Promise<void> {
  const { perdure } = of;
  const { client } = perdure;
  const lines = ["chair", "table", "lamp", "sofa"];
  await block(of);
  await client.start(poster, "page", { id: "poster-1" });
  const failed = await client.start(payout, "DE89 3704", { id: "payout-1" });
  await failed.result().catch(() => undefined);
  await client.start(keeper, { note: "kept" }, { id: "keeper-1" });
  await client.start(checkout, { id: "k", customer: "c-3", lines }, { id: "checkout-1" });
  await sell(of);
  const end = performance.now() + WORK_MS;
  for (let n = 1; performance.now() < end; n++) {
    const order = {
      id: `o-${n}`,
      customer: `c-${n % 7}`,
      lines: lines.slice(0, 1 + (n % 4)),
      refusals: n % 3,
    };
    const id = `order-${n}`;
    const handle = await client.start(fulfil, order, { id });
    if (n % 9 !== 0) {
      void until(perdure, id, waitsForEvent)
        .then(() => pause(40))
        .then(() => handle.raise(approval, { by: n % 2 === 0 ? "ada" : "otto" }));
    }
    await pause(90 + 60 * Math.sin(n / 12));
  }
  await client.get("order-18").pause({ reason: "stock-taking", by: "otto" });
  await client.get("order-27").cancel({ reason: "customer called", by: "ada" });
  await pause(1_500); // for the last samples
}

/** Sales that fail while the truck is broken, one of them repaired since; and a schedule with a run. */
async function sell({ perdure: { client } }: World): Promise<void> {
  truck.isBroken = true;
  const orders = Array.from({ length: 8 }, (_, n) => `sale-${n + 1}`);
  for (const id of orders) {
    const started = await client.start(sale, { id, customer: "c-7", lines: ["chair"] }, { id });
    await started.result().catch(() => undefined);
  }
  const parent = await client.start(
    mall,
    { id: "m", customer: "c-7", lines: [] },
    { id: "mall-1" },
  );
  await parent.result().catch(() => undefined);
  truck.isBroken = false;
  const repaired = client.get("sale-2");
  await repaired.rewind({ to: "failure", reason: "the truck is repaired", by: "otto" });
  await repaired.result();
  await repaired.rewind({
    before: 4,
    replace: [{ sequence: 2, output: { receipt: "r-cash" } }],
    reason: "the customer paid in cash",
    by: "vera",
  });
  await nightly.apply(client);
  await nightly.trigger(client);
}
