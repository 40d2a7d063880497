// Which version a start by name and continueAsNew use (semantics 22).

import { expect, test } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { startRuntime, virtualStore, virtualWorld } from "../../faults/trouble/support.ts";

const version = (text: string) =>
  orchestration("orders", async (ctx) => ctx.info.version, { version: text });
const [first, second, third] = ["1.0.0", "1.2.0", "2.0.0"].map(version);
const all = [first, second, third].flatMap((definition) => definition ?? []);

test("a start by name uses the newest version, unless the runtime pins another version", async () => {
  const newest = await virtualWorld(all);
  expect(await (await newest.client.start("orders", null)).result()).toBe("2.0.0");
  const pinned = await virtualWorld(all, { versions: { orders: "1.2.0" } });
  expect(await (await pinned.client.start("orders", null)).result()).toBe("1.2.0");
  const exact = await pinned.client.start("orders", null, { version: "1.0.0" });
  expect(await exact.result()).toBe("1.0.0");
});

test("continueAsNew uses the pinned version, but a version named in the call takes precedence", async () => {
  const old = orchestration(
    "o",
    async (ctx, next: string | null): Promise<string> =>
      ctx.continueAsNew("done", next === null ? {} : { version: next }),
    { version: "1.0.0" },
  );
  const pinned = orchestration("o", async () => "pinned", { version: "1.5.0" });
  const newest = orchestration("o", async () => "newest", { version: "2.0.0" });
  const { client } = await virtualWorld([old, pinned, newest], { versions: { o: "1.5.0" } });
  expect(await (await client.start(old, null)).result()).toBe("pinned");
  expect(await (await client.start(old, "2.0.0")).result()).toBe("newest");
});

test("pins to unregistered versions are refused in one error", async () => {
  const { provider } = await virtualStore();
  const starting = startRuntime(provider, all, { versions: { orders: "9.0.0", bills: "1.0.0" } });
  await expect(starting).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringMatching(/"orders" 9\.0\.0.*"bills" 1\.0\.0/s) as string,
  });
});
