// The setup of these test files: a browser, a world, and pages in it, all closed at the end.

import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import type { ListenOptions, Role } from "../../../../src/server/index.ts";
import { openBrowser, openPage, type Watched } from "./browser.ts";
import { openWorld, type World } from "./world.ts";

/** Creating a hundred thousand instances takes a while. */
const PREPARE_MS = 300_000;

export interface Scene {
  readonly world: World;
  readonly browser: Browser;
  /** A logged-in page at this address (`/instances?status=failed`). */
  show(place: string, options?: ShowOptions): Promise<Watched>;
}
export interface ShowOptions extends BrowserContextOptions {
  readonly role?: Role;
}

export function useScene(
  options: Partial<ListenOptions> = {},
  prepare: (world: World) => Promise<void> = async () => undefined,
): Scene {
  const held: { browser?: Browser; world?: World } = {};
  beforeAll(async () => {
    held.browser = await openBrowser();
    held.world = await openWorld(options);
    await prepare(held.world);
  }, PREPARE_MS);
  afterAll(async () => {
    await held.browser?.close();
    await held.world?.[Symbol.asyncDispose]();
  });
  const opened = (): { browser: Browser; world: World } => {
    const { browser, world } = held;
    if (browser === undefined || world === undefined) throw new Error("The scene is not open yet.");
    return { browser, world };
  };
  return {
    get world() {
      return opened().world;
    },
    get browser() {
      return opened().browser;
    },
    async show(place, { role = "admin", ...contextOptions } = {}) {
      const { browser, world } = opened();
      const watched = await openPage(browser, world.enter(role), contextOptions);
      onTestFinished(() => watched[Symbol.asyncDispose]());
      await watched.page.locator(".shell").waitFor();
      await watched.page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`);
      return watched;
    },
  };
}
