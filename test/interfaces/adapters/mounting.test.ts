// Perdure in Express, Fastify and Hono applications: API, dashboard, life, context and trace.

import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { temporaryFolder } from "../../faults/trouble/support.ts";
import { collecting } from "../../features/telemetry/support.ts";
import { builtUi } from "../ui/support/built-ui.ts";
import { FRAMEWORKS, PREFIX } from "./support.ts";

const charge = activity("charge", async (cents: number, ctx) => {
  // A start of the activity itself must not get the context of the request that woke the runtime.
  const followed = await (await ctx.client.start(bare)).result();
  return { paid: `${String(ctx.context["tenant"])} pays ${cents}`, followed };
});
const bare = orchestration("bare", async (ctx) => Object.keys(ctx.context).length);
const order = orchestration("order", async (ctx, cents: number) => ctx.run(charge, cents));
const register = [charge, bare, order];
const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test.each(FRAMEWORKS)(
  "%s: the API, the dashboard and its files answer below the prefix",
  async (_, mount) => {
    const { origin, perdure } = await mount(
      { store: "sqlite::memory:", register, runtime: quiet(), server: { ui: await builtUi() } },
      async () => ({}),
    );
    const base = `${origin}${PREFIX}`;
    const headers = {
      authorization: `Bearer ${perdure.token}`,
      "content-type": "application/json",
    };
    const body = JSON.stringify({ name: "order", id: "a", input: 5, context: { tenant: "api" } });
    const started = await fetch(`${base}/api/v1/instances`, { method: "POST", headers, body });
    expect(started.status).toBe(201);
    const { client } = await perdure.open();
    expect(await client.get("a").result()).toMatchObject({ paid: "api pays 5" });

    const page = await (await fetch(base, { headers: { accept: "text/html" } })).text();
    const [, script = ""] = /src="(?:\.\/)?([^"]*assets\/[^"]+\.js)"/.exec(page) ?? [];
    expect(page).toContain(`<base href="${PREFIX}/"`);
    const asset = await fetch(new URL(script, `${base}/`));
    expect([asset.status, asset.headers.get("content-type")]).toEqual([
      200,
      "text/javascript; charset=utf-8",
    ]);

    expect((await fetch(`${base}/readyz`)).status).toBe(200);
    expect((await fetch(`${base}/api/v1/instances`)).status).toBe(401);
    const foreign = { ...headers, origin: "https://evil.example" };
    expect(
      (await fetch(`${base}/api/v1/instances`, { method: "POST", headers: foreign, body })).status,
    ).toBe(403);
    expect((await fetch(`${origin}/nothing`)).status).toBe(404);
  },
);

test.each(FRAMEWORKS)(
  "%s: the context and the trace of a request reach its starts",
  async (_, mount) => {
    const { telemetry, spans } = collecting();
    const { origin } = await mount(
      {
        store: "sqlite::memory:",
        register,
        runtime: { ...quiet(), telemetry },
        server: { ui: false },
      },
      async (perdure, id, body) => {
        const client = await perdure.client();
        const cents = (body as { cents: number }).cents;
        return (await client.start(order, cents, { id })).result();
      },
    );
    const post = (id: string, headers: Record<string, string>): Promise<Response> =>
      fetch(`${origin}/orders/${id}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ cents: 7 }),
      });
    const [ours, theirs] = await Promise.all([
      post("1", { "x-tenant": "acme", traceparent: TRACE }),
      post("2", { "x-tenant": "globex" }),
    ]);
    expect(await theirs.json()).toMatchObject({ paid: "globex pays 7" });
    expect(await ours.json()).toEqual({ paid: "acme pays 7", followed: 0 });
    const start = spans().find(({ attributes }) => attributes["perdure.instance"] === "1");
    expect(start?.spanContext().traceId).toBe(TRACE.split("-")[1]);
    expect(start?.parentSpanContext?.spanId).toBe(TRACE.split("-")[2]);
    const other = spans().find(({ attributes }) => attributes["perdure.instance"] === "2");
    expect(other?.parentSpanContext).toBeUndefined();

    expect((await post("3", { "x-tenant": "forbidden" })).status).toBe(500);
  },
);

test.each(FRAMEWORKS)("%s: the runtime starts and stops with the application", async (_, mount) => {
  const store = `sqlite:${join(temporaryFolder(), "life.db")}`;
  const { origin, perdure, close } = await mount(
    { store, register, runtime: quiet(), server: { ui: false } },
    async () => ({}),
  );
  const { runtime } = await perdure.open();
  expect(runtime.isReady).toBe(true);
  const headers = { authorization: `Bearer ${perdure.token}` };
  const changes = await fetch(`${origin}${PREFIX}/api/v1/changes`, { headers });
  expect(changes.status).toBe(200); // an open stream must not keep the application open
  onTestFinished(() => changes.body?.cancel().catch(() => undefined));
  await close();
  await runtime.stopped;
  await expect
    .poll(() => perdure.open().catch(({ code }: { code: string }) => code))
    .toBe("SHUTTING_DOWN");
});

function quiet() {
  return { log: () => undefined };
}
