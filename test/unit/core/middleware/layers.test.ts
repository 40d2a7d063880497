// The rules that every layer must keep, and the checks of the options `middleware`, `services` and `context`.

import { expect, test } from "vitest";
import { openServices } from "../../../../src/core/context/services.ts";
import {
  CONTEXT_BYTES_MAX,
  changedContext,
  decodeContext,
  encodeContext,
  inheritedMembers,
} from "../../../../src/core/context/start-context.ts";
import { passAttempt, passLayers } from "../../../../src/core/middleware/layers.ts";
import {
  layersOf,
  NO_LAYERS,
  type ActivityCall,
  type Middleware,
  type Next,
  type RaiseCall,
  type StartCall,
} from "../../../../src/core/middleware/middleware.ts";
import { defaultCodec as codec } from "../../../../src/core/values/codec.ts";

const START: StartCall = { kind: "start", name: "order", input: 1, options: {}, context: {} };
const STARTED = { ids: ["o-1"] };
type StartLayer = NonNullable<Middleware["start"]>;

async function start(layer: unknown, call = START): Promise<unknown> {
  const seen: StartCall[] = [];
  const layers = [layer as StartLayer];
  const result = await passLayers(layers, { ...call }, async (changed) => {
    seen.push(changed);
    return STARTED;
  });
  return { result, seen };
}

const broken = (what: string) => ({
  code: "INVALID_ARGUMENT",
  message: expect.stringContaining(what),
});

test("next continues with the call, or with a changed copy of it", async () => {
  expect(await start((_call: StartCall, next: Next<StartCall, unknown>) => next())).toEqual({
    result: STARTED,
    seen: [START],
  });
  const changing = (call: StartCall, next: Next<StartCall, unknown>) =>
    next({ ...call, input: 2, options: { id: "x" }, context: { tenant: "acme" } });
  expect(await start(changing)).toEqual({
    result: STARTED,
    seen: [{ ...START, input: 2, options: { id: "x" }, context: { tenant: "acme" } }],
  });
});

test.each<[string, unknown]>([
  ["must call next", () => STARTED],
  ["must call next", async () => undefined],
  [
    "must return the result of next",
    async (_: unknown, next: () => Promise<unknown>) => void (await next()),
  ],
  [
    "must return the result of next",
    async (_: unknown, next: () => Promise<unknown>) => ({ ...((await next()) as object) }),
  ],
  [
    "must call next only once",
    async (_: unknown, next: () => Promise<unknown>) => (await next(), next()),
  ],
  [
    "must not change kind",
    (call: StartCall, next: Next<unknown, unknown>) => next({ ...call, kind: "enqueue" }),
  ],
  [
    "must not change name",
    (call: StartCall, next: Next<unknown, unknown>) => next({ ...call, name: "other" }),
  ],
  [
    "must not change instanceId",
    (call: StartCall, next: Next<unknown, unknown>) => next({ ...call, instanceId: "i" }),
  ],
  [
    'unknown option "contxt"',
    (call: StartCall, next: Next<unknown, unknown>) => next({ ...call, contxt: {} }),
  ],
  ["a copy of the call", (_: unknown, next: Next<unknown, unknown>) => next(5)],
  ["a copy of the call", (_: unknown, next: Next<unknown, unknown>) => next({ input: 5 })],
])("a start layer that breaks a rule is refused: %s", async (what, layer) => {
  await expect(start(layer)).rejects.toMatchObject(broken(what));
});

test("the call is read-only", async () => {
  const writing = (call: { input: unknown }) => (call.input = 2);
  await expect(start(writing)).rejects.toThrow(TypeError);
});

test("a layer cannot hide the error of a call, but may replace it", async () => {
  const failing = (layer: StartLayer) =>
    passLayers([layer], { ...START }, () => Promise.reject(new Error("store")));
  const hiding: StartLayer = async (_, next) => next().catch(() => STARTED);
  await expect(failing(hiding)).rejects.toThrow("store");
  const replacing: StartLayer = (_, next) =>
    next().catch(() => {
      throw new Error("replaced");
    });
  await expect(failing(replacing)).rejects.toThrow("replaced");
  const early: StartLayer = (_, next) => {
    void next();
    throw new Error("early");
  };
  await expect(failing(early)).rejects.toThrow("early");
});

test("an event has no context, and its layer need not return anything", async () => {
  const call: RaiseCall = { ...START, kind: "raise", instanceId: "i" };
  const sent: unknown[] = [];
  const send = async ({ input }: RaiseCall) => void sent.push(input);
  await passLayers([(_, next) => void next()], { ...call }, send);
  await passLayers([(each, next) => next({ ...each, input: 2 })], { ...call }, send);
  expect(sent).toEqual([1, 2]);
  const withContext = (each: RaiseCall, next: Next<RaiseCall, void>) =>
    next({ ...each, context: { tenant: "acme" } });
  await expect(passLayers([withContext], { ...call }, send)).rejects.toMatchObject(
    broken("must not change context"),
  );
});

test("an activity layer decides the result, and may change the input only", async () => {
  const call = {
    ...START,
    kind: "activity",
    instanceId: "i",
    options: {},
  } as unknown as ActivityCall;
  const double = ({ input }: ActivityCall) => (input as number) * 2;
  const pass = (layer: NonNullable<Middleware["activity"]>) =>
    passAttempt([layer], { ...call }, double);
  expect(pass(() => "cached")).toBe("cached");
  expect(await pass((each, next) => next({ ...each, input: 4 }))).toBe(8);
  expect(await pass(async (_, next) => [await next()])).toEqual([2]);
  await expect(pass((each, next) => next({ ...each, context: { x: 1 } }))).rejects.toMatchObject(
    broken("must not change context"),
  );
  await expect(
    pass(async (_, next) => {
      await next();
      return next();
    }),
  ).rejects.toMatchObject(broken("must call next only once"));
});

test("a wrong middleware option is refused, and no middleware means no layers", () => {
  expect(layersOf(undefined)).toBe(NO_LAYERS);
  expect(layersOf([])).toEqual(NO_LAYERS);
  expect(layersOf([{}, { step: undefined }] as never)).toEqual(NO_LAYERS);
  const activity = () => 1;
  expect(layersOf([{ activity }])).toMatchObject({ start: null, step: null });
  for (const [given, what] of [
    ["x", "middleware must be a list"],
    [{ start: activity }, "middleware must be a list"],
    [[activity], "middleware[0] must be an object of functions"],
    [[{}, null], "middleware[1] must be an object of functions"],
    [[{ start: 5 }], "middleware[0].start must be given a function"],
    [[{ turn: activity }], 'unknown option "turn"'],
  ] as const) {
    expect(() => layersOf(given as never)).toThrow(what);
  }
});

test("a middleware may be an object of a class", async () => {
  class Tracing implements Middleware {
    readonly #seen: string[] = [];
    get seen(): readonly string[] {
      return this.#seen;
    }
    start(call: StartCall, next: Parameters<StartLayer>[1]): ReturnType<StartLayer> {
      this.#seen.push(call.name);
      return next();
    }
  }
  const tracing = new Tracing();
  await passLayers(layersOf([tracing]).start ?? [], { ...START }, async () => STARTED);
  expect(tracing.seen).toEqual(["order"]);
});

test("a context is a plain object of at most 4 KiB as encoded", () => {
  const text = encodeContext({ tenant: "acme", absent: undefined }, codec, "x");
  expect(decodeContext(text, codec)).toEqual({ tenant: "acme" });
  expect(encodeContext({}, codec, "x")).toBeUndefined();
  expect(encodeContext({ absent: undefined }, codec, "x")).toBeUndefined();
  expect(decodeContext(undefined, codec)).toEqual({});
  for (const wrong of [null, 5, "tenant", ["a"], new Date(0), new Map()]) {
    expect(() => encodeContext(wrong, codec, 'instance "i"')).toThrow(
      'The context of instance "i" must be a plain object; got ',
    );
  }
  const quotes = '{"a":""}'.length;
  const largest = { a: "x".repeat(CONTEXT_BYTES_MAX - quotes) };
  expect(encodeContext(largest, codec, "x")).toHaveLength(CONTEXT_BYTES_MAX);
  const larger = { a: `${largest.a}x` };
  const tooLarge = { code: "LIMIT_EXCEEDED", message: expect.stringContaining("4097 bytes") };
  expect(() => encodeContext(larger, codec, "x")).toThrow(expect.objectContaining(tooLarge));
  expect(() => encodeContext({ a: () => 1 }, codec, "x")).toThrow(
    expect.objectContaining({ code: "VALUE_NOT_SERIALIZABLE" }),
  );
});

test("changes of an inherited context are recorded whole, and an absent change records nothing", () => {
  const inherited = { tenant: "acme", locale: "de" };
  expect(changedContext(inherited, undefined, codec, "x")).toEqual({});
  const changes = { locale: undefined, plan: 7 };
  expect(changedContext(inherited, changes, codec, "x")).toEqual({
    context: codec.encode({ tenant: "acme", plan: 7 }),
  });
  expect(() => changedContext(inherited, [] as never, codec, "x")).toThrow("plain object");
  expect(inheritedMembers({})).toEqual({});
  expect(inheritedMembers({ context: "a" }, "b")).toEqual({ context: "b" });
  expect(inheritedMembers({ traceParent: "t", context: "a" })).toEqual({
    traceParent: "t",
    context: "a",
  });
});

test("a stored context that is not a record is corrupt", () => {
  expect(() => decodeContext("5", codec)).toThrow(
    expect.objectContaining({ code: "HISTORY_CORRUPT" }),
  );
});

test("services are read-only, and a missing one throws where it is read", async () => {
  class Db {
    readonly #rows = 3;
    get rows(): number {
      return this.#rows;
    }
  }
  const services = openServices({ db: new Db() }, "the way") as { db: Db; mail?: unknown };
  expect(services.db.rows).toBe(3);
  expect("mail" in services).toBe(false);
  expect(() => services.mail).toThrow(
    expect.objectContaining({
      code: "NOT_CONFIGURED",
      message: 'There is no service "mail"; add it: the way.',
    }),
  );
  expect(() => (services.mail = 1)).toThrow("must not be changed");
  expect(await Promise.resolve(services)).toBe(services); // reads `then`
  expect(() => openServices(undefined, "")).not.toThrow();
  expect(() => openServices(5, "")).toThrow("services must be an object; got 5.");
});
