// W15: callbacks over HTTP: from a POST to the address of a callback until the instance has its result, on an idle
//   system. The server is in the same process; the connection is kept alive, as senders do.

import { strict as assert } from "node:assert";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { callbacks } from "../../src/callback/index.ts";
import { orchestration } from "../../src/index.ts";
import { timeMs } from "../measure.ts";
import { samples } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { measureLatency } from "../support/latency.ts";
import { assertUntroubled, withPerdure } from "../support/open.ts";

const caller = orchestration("caller", async (ctx, _: undefined) => {
  const answer = ctx.callback("answer");
  ctx.kv.set("token", answer.token);
  return await answer;
});
const settings = { secrets: ["a-secret-of-32-bytes-for-this-benchmark"], baseUrl: "http://host" };

export const run: Run = (setting) =>
  withPerdure(setting, { register: [caller], callbacks: settings }, async (perdure) => {
    const app = callbacks(perdure.client, { limits: { addressPerSecond: 1_000_000 } });
    const server = createAdaptorServer({ fetch: app.fetch }) as Server; // not HTTP/2
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // it listens on a port
    const readings = await measureLatency(setting, async (i) => {
      const handle = await perdure.client.start(caller);
      const token = await handle.kv.waitFor<string>("token");
      return timeMs(async () => {
        const response = await fetch(`http://127.0.0.1:${port}/${token}`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: String(i),
        });
        assert.equal(response.status, 200, await response.text());
        assert.equal(await handle.result(), i);
      });
    });
    const { n, warmUp } = samples(setting);
    await assertUntroubled(perdure, n + warmUp);
    server.close();
    server.closeAllConnections();
    return readings;
  });
