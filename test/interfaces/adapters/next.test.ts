// Perdure in a Next.js application: the handlers of its route, what `next build` may not do, and the context of requests.
// Next.js itself runs in `npm run test:frameworks`.

import { expect, onTestFinished, test, vi } from "vitest";
import type { AppOptions } from "../../../src/adapters/app.ts";
import { perdureNext, type PerdureNext, type RequestHeaders } from "../../../src/adapters/next.ts";
import { activity, orchestration } from "../../../src/index.ts";
import { builtUi } from "../ui/support/built-ui.ts";

const charge = activity("charge", async (cents: number, ctx) => {
  return `${String(ctx.context["tenant"])} pays ${cents}`;
});
const order = orchestration("order", async (ctx, cents: number) => ctx.run(charge, cents));

let stores = 0;

function appWith(options: Partial<AppOptions<RequestHeaders>> = {}): PerdureNext {
  stores += 1;
  const perdure = perdureNext({
    store: "sqlite::memory:",
    name: `next ${stores}`,
    register: [charge, order],
    runtime: { log: () => undefined },
    server: { ui: false },
    signals: false,
    ...options,
  });
  onTestFinished(() => perdure.close());
  return perdure;
}

/**
 * Calls a handler as Next.js does for `app/jobs/[[...path]]/route.ts` with the basePath "/shop", which it removes. The URL
 * names the address on which the server listens, not the host of the request.
 */
function call(perdure: PerdureNext, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("host", "shop.example");
  const request = new Request(`http://localhost:3000/jobs${path}`, { ...init, headers });
  const segments = path.replace(/\?.*/, "").split("/").filter(Boolean).map(decodeURIComponent);
  const method = (init.method ?? "GET") as keyof PerdureNext["handlers"];
  const params = Promise.resolve(segments.length === 0 ? {} : { path: segments });
  return perdure.handlers[method](request, { params });
}

test("the handlers serve the API and the dashboard below the public path of the route", async () => {
  const perdure = appWith({
    prefix: "/shop/jobs",
    server: { ui: await builtUi(), hosts: ["shop.example"] },
  });
  const headers = {
    authorization: `Bearer ${perdure.token}`,
    "content-type": "application/json",
  };
  const body = JSON.stringify({ name: "order", id: "a b", input: 5, context: { tenant: "api" } });
  const started = await call(perdure, "/api/v1/instances", { method: "POST", headers, body });
  expect(started.status).toBe(201);
  const client = await perdure.client();
  expect(await client.get("a b").result()).toBe("api pays 5");
  const read = await call(perdure, "/api/v1/instances/a%20b", { headers });
  expect(await read.json()).toMatchObject({ id: "a b", status: "completed" });
  const listed = await call(perdure, "/api/v1/instances?name=other", { headers });
  expect(await listed.json()).toMatchObject({ items: [] });

  const page = await (
    await call(perdure, "", { headers: { accept: "text/html", "accept-encoding": "br, gzip" } })
  ).text();
  expect(page).toContain('<base href="/shop/jobs/"');
  expect((await call(perdure, "/readyz")).status).toBe(200);
  expect((await call(perdure, "/api/v1/instances")).status).toBe(401);
});

test("a prefix that is not the path of the route is refused", async () => {
  const perdure = appWith({ prefix: "/perdure" });
  await expect(call(perdure, "/readyz")).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message:
      'perdureNext: prefix must be the public path of the route, which ends with "/jobs"; got "/perdure".',
  });
});

test("an unknown option is refused", () => {
  const given = { store: "sqlite::memory:", handler: true };
  expect(() => perdureNext(given)).toThrow(
    expect.objectContaining({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining('perdureNext: unknown option "handler"') as string,
    }),
  );
});

test("next build opens nothing, and a page that needs the store says so", async () => {
  const open = vi.fn<() => never>();
  const perdure = appWith({ store: open });
  vi.stubEnv("NEXT_PHASE", "phase-production-build");
  onTestFinished(() => void vi.unstubAllEnvs());
  await perdure.start();
  await expect(perdure.client()).rejects.toMatchObject({ code: "NOT_CONFIGURED" });
  expect(open).not.toHaveBeenCalled();
});

test("start begins to run work, and copies of the module share the runtime", async () => {
  vi.stubEnv("NODE_ENV", "production");
  onTestFinished(() => void vi.unstubAllEnvs());
  const instrumentation = appWith({ name: "shared" });
  const route = appWith({ name: "shared" });
  await instrumentation.start();
  const { runtime } = await route.open();
  expect(runtime.isReady).toBe(true);
  expect((await instrumentation.open()).runtime).toBe(runtime);
});

test("starts of a request get its context, also next to other requests", async () => {
  const perdure = appWith({ context: (headers) => ({ tenant: headers.get("x-tenant") }) });
  const buy = (tenant: string, cents: number): Promise<string> =>
    perdure.inRequest(new Headers({ "x-tenant": tenant }), async (client) => {
      await client.list();
      return (await client.start(order, cents)).result();
    });
  expect(await Promise.all([buy("acme", 1), buy("globex", 2)])).toEqual([
    "acme pays 1",
    "globex pays 2",
  ]);
});
