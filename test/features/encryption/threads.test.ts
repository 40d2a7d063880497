// Values stay encrypted when activities run in threads: only encoded texts cross the thread boundary.

import { expect, test } from "vitest";
import { orchestration, threads } from "../../../src/index.ts";
import { Vault } from "./support.ts";
import { codec, refuse, seal } from "./thread-work.ts";

const CANARY = `canary-${crypto.randomUUID()}`;

const main = orchestration("main", async (ctx, secret: string) => {
  const out = await ctx.run(seal, secret);
  const said = await ctx.waitFor("said");
  const refused = await ctx.run(refuse, secret).catch((error: unknown) => String(error));
  return { out, said, refused };
});

test("an activity in a thread reads and writes encrypted values, and the store contains no plain text of them", async () => {
  const vault = new Vault();
  const executor = threads({ module: new URL("./thread-work.ts", import.meta.url), size: 1 });
  const perdure = await vault.open({ register: [main, seal, refuse], codec, executor });
  const handle = await perdure.client.start(main, CANARY, { id: "m" });
  expect(await handle.result({ timeout: "60s" })).toEqual({
    out: `${CANARY} out`,
    said: `${CANARY} said`,
    refused: expect.stringContaining(`${CANARY} refused`),
  });
  const bytes = vault.bytes();
  expect(bytes.includes("enc2.shared.")).toBe(true);
  expect(bytes.includes(CANARY)).toBe(false);
  expect(vault.log.join("\n")).not.toContain(CANARY);
});
