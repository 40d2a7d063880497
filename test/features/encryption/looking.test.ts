// Reading an encrypted store through the server, with and without the key.

import { expect, onTestFinished, test } from "vitest";
import { activity, Client, orchestration, type Codec } from "../../../src/index.ts";
import { perdureServer } from "../../../src/server/index.ts";
import { first, second, Vault } from "./support.ts";

const declines = activity(
  "declines",
  async () => {
    throw new RangeError("card declined");
  },
  { retry: { maxAttempts: 1 } },
);
const pays = orchestration("pays", async (ctx, order: { card: string }) => {
  ctx.setStatus({ charging: order.card });
  await ctx.run(declines);
});

test("a server with the key shows values and failures; a server without it names the missing key", async () => {
  const vault = new Vault();
  const perdure = await vault.open({ codec: first, register: [pays, declines] });
  const handle = await perdure.client.start(pays, { card: "4242" }, { id: "p" });
  await expect(handle.result({ timeout: "20s" })).rejects.toThrow("card declined");
  const look = async (codec: Codec) => {
    const client = new Client(perdure.provider, { codec });
    const server = perdureServer(client, {
      authenticate: () => ({ name: "vera", role: "viewer" }),
      log: () => undefined,
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const paths = ["", "/history", "/timeline"].map((end) => `/api/v1/instances/p${end}`);
    const answers = [...paths, "/api/v1/instances"].map(async (path) => {
      const response = await server.request(path);
      expect([path, response.status]).toEqual([path, 200]);
      return response.text();
    });
    return Promise.all(answers);
  };
  const shown = await look(first);
  for (const text of shown) expect(text).toContain("card declined");
  expect(shown[0]).toContain("4242");
  expect(shown[1]).toContain("4242");
  const hidden = await look(second);
  for (const text of hidden) {
    expect(text).not.toMatch(/card declined|4242/);
    expect(text).toContain("k1"); // the id of the missing key
  }
});
