import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  orchestration,
  Perdure,
  PerdureError,
  type DriveResult,
} from "../../../../src/index.ts";
import {
  driveHandler,
  type DriveHandlerOptions,
  type Driver,
} from "../../../../src/server/drive/index.ts";

const SECRET = "0123456789abcdef";
const IDLE: DriveResult = { turns: 0, attempts: 0, idle: true, nextAt: null };

function request(authorization?: string, method = "GET"): Request {
  const headers = authorization === undefined ? {} : { authorization };
  return new Request("https://example.com/drive", { method, headers });
}

/** A handler of a driver that a test controls, and what was logged. */
function handlerOf(
  drive: Driver["drive"],
  options: Partial<DriveHandlerOptions> = {},
): { get: () => Promise<Response>; logged: string[] } {
  const logged: string[] = [];
  const log = (_: string, message: string): void => void logged.push(message);
  const { GET } = driveHandler({ drive }, { secret: SECRET, log, ...options });
  return { get: () => GET(request(`Bearer ${SECRET}`)), logged };
}

test("a request with the secret drives, and the answer says what was done and when to come again", async () => {
  const perdure = await Perdure.open("sqlite::memory:", {
    register: [
      activity("charge", async () => 1),
      orchestration("order", async (ctx) => {
        await ctx.run("charge");
        await ctx.sleep("1h");
      }),
    ],
    runtime: { log: () => undefined },
    autoStart: false,
  });
  onTestFinished(() => perdure.close());
  const wakes: Date[] = [];
  const { GET, POST } = driveHandler(perdure, { secret: SECRET, wake: (at) => wakes.push(at) });

  const first = await GET(request(`Bearer ${SECRET}`));
  expect(first.status).toBe(200);
  expect(first.headers.get("cache-control")).toBe("no-store");
  expect(await first.json()).toEqual(IDLE);
  expect(wakes).toEqual([]); // nothing comes due

  await perdure.client.start("order");
  const second = await POST(request(`bearer ${SECRET}`, "POST"));
  const body = (await second.json()) as { nextAt: string };
  expect(body).toEqual({ turns: 2, attempts: 1, idle: true, nextAt: expect.any(String) });
  expect(wakes).toEqual([new Date(body.nextAt)]);
});

test.each([
  undefined,
  "",
  "Bearer",
  `Bearer ${SECRET}x`,
  `Bearer ${SECRET.slice(1)}`,
  `Basic ${SECRET}`,
  SECRET,
])(
  "drive-handler.1: a request with the authorization %j gets 401 and drives nothing",
  async (authorization) => {
    let drives = 0;
    const drive = async (): Promise<DriveResult> => (drives++, IDLE);
    const { POST } = driveHandler({ drive }, { secret: SECRET });
    const response = await POST(request(authorization, "POST"));
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(await response.json()).toMatchObject({ error: { code: "UNAUTHENTICATED" } });
    expect(drives).toBe(0);
  },
);

test("drive-handler.2: requests during a drive share one further drive", async () => {
  const gates: PromiseWithResolvers<DriveResult>[] = [];
  const { get } = handlerOf(() => {
    const gate = Promise.withResolvers<DriveResult>();
    gates.push(gate);
    return gate.promise;
  });
  const turns = async (response: Promise<Response>): Promise<unknown> =>
    ((await (await response).json()) as DriveResult).turns;
  const first = get();
  await expect.poll(() => gates.length).toBe(1);
  const [second, third] = [get(), get()];
  gates[0]?.resolve({ ...IDLE, turns: 1 });
  expect(await turns(first)).toBe(1);
  await expect.poll(() => gates.length).toBe(2);
  gates[1]?.resolve({ ...IDLE, turns: 2 });
  expect([await turns(second), await turns(third)]).toEqual([2, 2]);
  const fourth = get();
  await expect.poll(() => gates.length).toBe(3);
  gates[2]?.resolve({ ...IDLE, turns: 3 });
  expect(await turns(fourth)).toBe(3);
});

test("drive-handler.3: the response waits for wake, and an error of wake is logged", async () => {
  const nextAt = new Date("2030-01-01");
  const order: string[] = [];
  const { get, logged } = handlerOf(async () => ({ ...IDLE, nextAt }), {
    wake: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push("woken");
      throw new Error("no scheduler");
    },
  });
  const response = await get();
  order.push("answered");
  expect(order).toEqual(["woken", "answered"]);
  expect([response.status, await response.json()]).toEqual([
    200,
    { ...IDLE, nextAt: nextAt.toISOString() },
  ]);
  expect(logged).toEqual(["drive handler: wake failed: no scheduler"]);
});

test.each([
  ["STORE_UNAVAILABLE", 503],
  ["DRIVE_RUNNING", 409],
  ["SHUTTING_DOWN", 503],
  ["INVALID_ARGUMENT", 500],
] as const)(
  "an error with the code %s gets status %i, and the next request drives",
  async (code, status) => {
    let fails = true;
    const { get, logged } = handlerOf(async () => {
      if (fails) throw new PerdureError(code, "Something happened.");
      return IDLE;
    });
    const response = await get();
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: { code, message: "Something happened." } });
    expect(logged).toEqual(["drive handler: Something happened."]);
    fails = false;
    expect((await get()).status).toBe(200);
  },
);

test("the message of another error is only logged", async () => {
  const { get, logged } = handlerOf(() => Promise.reject(new Error("password=hunter2")));
  const response = await get();
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("hunter2");
  expect(logged).toEqual(["drive handler: password=hunter2"]);
});

test("a function opens the store at the first request, and again if it failed", async () => {
  let opens = 0;
  const open = async (): Promise<Driver> => {
    if (++opens === 1) throw new PerdureError("STORE_UNAVAILABLE", "not yet");
    return { drive: async () => IDLE };
  };
  const { GET } = driveHandler(open, { secret: SECRET, log: () => undefined });
  expect(opens).toBe(0);
  const get = (): Promise<Response> => GET(request(`Bearer ${SECRET}`));
  expect([(await get()).status, (await get()).status, (await get()).status]).toEqual([
    503, 200, 200,
  ]);
  expect(opens).toBe(2);
});

test.each([
  [{}, "secret"],
  [{ secret: "short" }, "secret"],
  [{ secret: "a secret with spaces" }, "secret"],
  [{ secret: SECRET, maxMs: 0 }, "maxMs"],
  [{ secret: SECRET, secrets: [] }, "secrets"],
])("the options %j are refused before any request", (options, named) => {
  const make = (): unknown =>
    driveHandler({ drive: async () => IDLE }, options as unknown as DriveHandlerOptions);
  expect(make).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }) as Error);
  expect(make).toThrow(named);
});
