// Perdure in a Nest application: activities as methods of providers, and the hooks that Nest calls. The container is a
// structural stand-in; Nest itself runs in `npm run test:frameworks`.

import { expect, onTestFinished, test } from "vitest";
import { Activity, declareActivity } from "../../../src/adapters/nest/activities.ts";
import type { Provided } from "../../../src/adapters/nest/discovery.ts";
import { PerdureNest, type NestOptions } from "../../../src/adapters/nest/host.ts";
import { activity, orchestration, type ActivityContext } from "../../../src/index.ts";

const charge = declareActivity<number, string>("charge", { attempts: 2 });
const order = orchestration("order", async (ctx, cents: number) => ctx.run(charge, cents));

class Payments {
  readonly gateway: string;
  constructor(gateway: string) {
    this.gateway = gateway;
  }
  async charge(cents: number, ctx: ActivityContext): Promise<string> {
    return `${this.gateway} ${String(ctx.context["tenant"])} ${cents}`;
  }
}
decorate(Payments, "charge");
class CardPayments extends Payments {}

let stores = 0;

test("a method of a provider runs as its activity, with the provider's own fields", async () => {
  const { nest } = await started([singleton(Payments, new Payments("visa"))]);
  const { client, runtime } = await nest.open();
  expect(runtime.isReady).toBe(true);
  const handle = await client.start(order, 5, { context: { tenant: "acme" } });
  expect(await handle.result()).toBe("visa acme 5");
});

test("an inherited method, and one of a replacement under the class as token, run as activities", async () => {
  const fake = { charge: async () => "fake" };
  for (const [provider, result] of [
    [singleton(CardPayments, new CardPayments("card")), "card undefined 1"],
    [{ ...singleton(Payments, fake), metatype: null }, "fake"],
    [{ ...singleton(Payments, fake), metatype: () => fake, isFactory: true }, "fake"],
  ] as const) {
    const { nest } = await started([provider]);
    const client = await nest.client();
    expect(await (await client.start(order, 1)).result()).toBe(result);
  }
});

test("the instance may be created after the store was opened", async () => {
  const provider = { ...singleton(Payments, null) };
  const nest = create([provider]);
  const client = await nest.client();
  const handle = await client.start(order, 2);
  provider.instance = new Payments(`with ${client.constructor.name}`);
  await nest.onApplicationBootstrap();
  expect(await handle.result()).toBe("with Client undefined 2");
});

test.each([
  [
    "no method",
    [],
    { register: [order, charge] },
    'activity "charge" has no method with @Activity in this application',
  ],
  [
    "two methods",
    [singleton(Payments, new Payments("a")), singleton(CardPayments, new CardPayments("b"))],
    { register: [order] },
    'activity "charge" has two methods: Payments.charge and CardPayments.charge',
  ],
  [
    "a function and a method",
    [singleton(Payments, new Payments("a"))],
    { register: [activity("charge", async () => "")] },
    'activity "charge" has a function and the method Payments.charge',
  ],
] as const)(
  "an activity with %s is refused before anything opens",
  (_, providers, given, problem) => {
    expect(() => create([...providers], given)).toThrow(
      expect.objectContaining({
        code: "INVALID_ARGUMENT",
        message: `Cannot register: ${problem}.`,
      }),
    );
  },
);

test("a provider that is not a singleton, or unknown before it is created, is refused at the start", async () => {
  const payments = new Payments("visa");
  const scoped = { ...singleton(Payments, payments), isDependencyTreeStatic: () => false };
  await expect(started([scoped], { register: [order] })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message:
      "Cannot register: Payments.charge must belong to a singleton; its provider has another scope.",
  });
  const late = {
    ...singleton(Payments, payments),
    token: "payments",
    metatype: () => payments,
    isFactory: true,
  };
  await expect(started([late], { register: [order] })).rejects.toMatchObject({
    message:
      "Cannot register: Payments.charge is unknown to Nest before it runs; provide it under its class.",
  });
});

test("an alias of a provider counts once", async () => {
  const provider = singleton(Payments, new Payments("visa"));
  const alias = { ...provider, token: "PAYMENTS", isAlias: true, isFactory: true };
  const { nest } = await started([provider, alias]);
  const client = await nest.client();
  expect(await (await client.start(order, 1)).result()).toBe("visa undefined 1");
});

test("the dashboard is mounted under the prefix, and the runtime ends with the application", async () => {
  const { nest, mounted } = await started([singleton(Payments, new Payments("visa"))], {
    prefix: "/ops",
  });
  expect(mounted).toEqual(["/ops"]);
  const { runtime } = await nest.open();
  await nest.beforeApplicationShutdown();
  await nest.onApplicationShutdown();
  await runtime.stopped;
  await expect(nest.open()).rejects.toMatchObject({ code: "SHUTTING_DOWN" });
});

test("server: false mounts nothing, and autoStart: false starts no runtime", async () => {
  const { nest, mounted } = await started([singleton(Payments, new Payments("visa"))], {
    server: false,
    autoStart: false,
  });
  expect(mounted).toEqual([]);
  expect((await nest.open()).runtime.isReady).toBe(false);
});

test("handlers of HTTP requests get the context of the request, others get none", async () => {
  const { nest } = await started([singleton(Payments, new Payments("visa"))], {
    context: ({ headers }) => ({ tenant: headers["x-tenant"] }),
  });
  const client = await nest.client();
  const execution = (type: string) => ({
    getType: () => type,
    switchToHttp: () => ({ getRequest: () => ({ headers: { "x-tenant": "acme" } }) }),
  });
  const handle = async (): Promise<string> => (await client.start(order, 3)).result();
  expect(await nest.intercept(execution("http"), { handle })).toBe("visa acme 3");
  expect(await nest.intercept(execution("rpc"), { handle })).toBe("visa undefined 3");
});

test("an unknown option, and one that Nest's hooks replace, are refused", () => {
  for (const name of ["handler", "signals"]) {
    expect(() => create([], { [name]: true })).toThrow(
      expect.objectContaining({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining(`PerdureModule: unknown option "${name}"`) as string,
      }),
    );
  }
});

test("@Activity refuses an activity that has a function", () => {
  const full = activity("full", async (cents: number) => `${cents}`);
  expect(() => Activity(full as typeof charge)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT" }),
  );
});

/** What `@Activity(charge)` before the method does: this project compiles no decorators. */
function decorate(type: typeof Payments, key: "charge"): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, key);
  if (descriptor === undefined) throw new Error(`no method ${key}`);
  Activity(charge)(type.prototype, key, descriptor);
}

function singleton(type: typeof Payments, instance: unknown): Writable<Provided> {
  return {
    token: type,
    metatype: type,
    instance,
    isAlias: false,
    isFactory: false,
    isTransient: false,
    isDependencyTreeStatic: () => true,
  };
}
type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

function create(
  providers: readonly Provided[],
  options: Partial<NestOptions> = {},
  mounted: string[] = [],
): PerdureNest {
  stores += 1;
  const nest = new PerdureNest(
    {
      store: "sqlite::memory:",
      name: `nest ${stores}`,
      register: [{ order, charge }],
      runtime: { log: () => undefined },
      server: { ui: false },
      ...options,
    },
    { getProviders: () => providers, getControllers: () => [] },
    { httpAdapter: { use: (path) => mounted.push(path) } },
  );
  onTestFinished(() => nest.close());
  return nest;
}

/** Calls the hooks of a start in Nest's order. */
async function started(providers: readonly Provided[], options: Partial<NestOptions> = {}) {
  const mounted: string[] = [];
  const nest = create(providers, options, mounted);
  await nest.open();
  nest.mount();
  await nest.onApplicationBootstrap();
  return { nest, mounted };
}
