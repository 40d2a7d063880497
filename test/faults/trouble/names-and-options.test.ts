// Names, ids and options: every rule, tested through the calls that users make.

import { describe, expect, test } from "vitest";
import {
  activity,
  Client,
  event,
  orchestration,
  Perdure,
  Runtime,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { collectLogs, refusalOf, virtualStore, virtualWorld } from "./support.ts";

const idle = orchestration("idle", async (ctx) => ctx.waitFor("never"));
const nothing = activity("nothing", () => null);

/** [the defect, the text, the expected part of the message]. */
const BROKEN_TEXTS: readonly (readonly [string, unknown, RegExp])[] = [
  ["empty", "", /is empty; it must have 1 to 256 bytes/],
  ["too long", "x".repeat(257), /is longer than 256 bytes/],
  ["too long in bytes though not in characters", "é".repeat(129), /is longer than 256 bytes/],
  ["half of a character", "a\uD800b", /is not well-formed Unicode/],
  ["a control character", "a\u0000b", /contains a control character/],
  ["a line break", "a\nb", /contains a control character/],
  ["a C1 control character", "a\u0085b", /contains a control character/],
  ["a number", 7, /must be a string/],
  ["null", null, /must be a string/],
];

describe("an instance id", () => {
  test.each(BROKEN_TEXTS)(
    "that is %s is refused before anything is written",
    async (_, id, why) => {
      const { client, provider } = await virtualStore();
      const writes = countWrites(provider);
      const error = await refusalOf(client.start(idle, undefined, { id: id as string }));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toMatch(/^instance id /);
      expect(error.message).toMatch(why);
      expect(writes()).toBe(0);
    },
  );

  test("that contains :: is refused, because :: is reserved for the ids of children", async () => {
    const { client } = await virtualStore();
    const error = await refusalOf(client.start(idle, undefined, { id: "a::b" }));
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain('"a::b"');
    expect(error.message).toContain("reserved for the ids of children");
  });

  test("of 256 bytes, or with emoji, is accepted", async () => {
    const { client } = await virtualStore();
    for (const id of ["x".repeat(256), "é".repeat(128), "order 👩‍👩‍👧 #1"]) {
      const handle = await client.start(idle, undefined, { id });
      expect((await handle.describe()).id).toBe(id);
    }
  });

  test("that breaks the rules cannot be looked up either", async () => {
    const { client } = await virtualStore();
    for (const id of ["", "a\nb", "x".repeat(1_025)]) {
      expect((await refusalOf(() => client.get(id))).code).toBe("INVALID_ARGUMENT");
    }
    // The default id of a child must not be used for a start, but can be looked up.
    expect(await client.get("parent::sub::2").exists()).toBe(false);
  });

  test("of a child that breaks the rules fails the call in its orchestration, and no child is started", async () => {
    const parent = orchestration("parent", async (ctx) =>
      ctx.call(idle, undefined, { id: "a::b" }),
    );
    const { client } = await virtualWorld([parent, idle]);
    const handle = await client.start(parent, undefined, { id: "p" });
    await expect(handle.result()).rejects.toMatchObject({
      code: "ORCHESTRATION_FAILED",
      message: expect.stringContaining('child id "a::b" contains "::"'),
      cause: { code: "INVALID_ARGUMENT" },
    });
    expect((await handle.history()).map(({ kind }) => kind)).toEqual([
      "OrchestrationStarted",
      "OrchestrationFailed",
    ]);
  });
});

describe("a name", () => {
  const definitions: readonly (readonly [string, string, (name: string) => unknown])[] = [
    ["activity", "activity name", (name) => activity(name, () => null)],
    ["orchestration", "orchestration name", (name) => orchestration(name, async () => null)],
    ["event", "event name", (name) => event(name)],
  ];
  for (const [kind, what, define] of definitions) {
    test.each(BROKEN_TEXTS)(`of an ${kind} that is %s is refused`, async (_, name, why) => {
      const error = await refusalOf(() => define(name as string));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message.startsWith(what)).toBe(true);
      expect(error.message).toMatch(why);
    });
    test(`of an ${kind} that begins with perdure. is refused`, async () => {
      const error = await refusalOf(() => define("perdure.mine"));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain("reserved for Perdure's own names");
    });
  }

  test("given as a string to start, raise, ctx.run, ctx.step and ctx.waitFor follows the same rules", async () => {
    const seen: string[] = [];
    const probe = orchestration("probe", async (ctx) => {
      const calls = [
        () => ctx.run("perdure.x"),
        () => ctx.step("", () => null),
        () => ctx.waitFor("a\u0000"),
        () => ctx.call("x".repeat(257)),
      ];
      for (const call of calls)
        seen.push((await refusalOf(call)).message.split(" ").slice(0, 2).join(" "));
      return ctx.waitFor("done");
    });
    const { client } = await virtualWorld([probe]);
    const handle = await client.start(probe, undefined, { id: "p" });
    expect((await refusalOf(client.start(""))).code).toBe("INVALID_ARGUMENT");
    expect((await refusalOf(handle.raise("perdure.x"))).message).toContain("event name");
    await handle.raise("done", 1);
    expect(await handle.result()).toBe(1);
    expect(seen).toEqual(["activity name", "step name", "event name", "orchestration name"]);
    // None of the refused calls is in the history.
    expect((await handle.history()).filter(({ kind }) => kind.endsWith("Scheduled"))).toEqual([]);
  });

  test("of an attribute, a request id and a version follow their rules too", async () => {
    const { client } = await virtualStore();
    const start = (options: object) => refusalOf(client.start(idle, undefined, options));
    expect((await start({ attributes: { "": "x" } })).message).toContain("attribute name");
    expect((await start({ attributes: { customer: ["42"] } })).message).toContain(
      'Attribute "customer" must be a text, a number, a boolean or a Date; got',
    );
    expect((await start({ requestId: "" })).message).toContain("request id");
    expect((await start({ version: "one" })).code).toBe("INVALID_ARGUMENT");
    expect((await refusalOf(() => orchestration("v", async () => 1, { version: "1" }))).code).toBe(
      "INVALID_ARGUMENT",
    );
  });
});

describe("a start's options", () => {
  test.each([
    ["a priority of 0", { priority: 0 }, "from 1 to 5"],
    ["a priority of 2.5", { priority: 2.5 }, "from 1 to 5"],
    [
      "an unknown policy",
      { onConflict: "replace" },
      "fail, useExisting, restart, terminateExisting",
    ],
    ["delay and at together", { delay: "1s", at: new Date(0) }, "delay or at, not both"],
    ["an invalid date", { at: new Date("x") }, "at must be a valid Date"],
    ["a date given as text", { at: "2026-01-01" }, "at must be a valid Date"],
    ["a delay without a unit", { delay: "10" }, "delay must be a duration such as"],
    ["a negative delay", { delay: -1 }, "0 or more"],
    ["a delay past 100 years", { delay: "36526d" }, "must be at most 100 years"],
  ])("%s is refused before anything is written", async (_, options, why) => {
    const { client, provider } = await virtualStore();
    const writes = countWrites(provider);
    const error = await refusalOf(
      client.start(idle, undefined, { id: "a", ...(options as object) }),
    );
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain(why);
    expect(writes()).toBe(0);
    expect(await client.get("a").exists()).toBe(false);
  });

  test("start of something that is not an orchestration names what it takes", async () => {
    const { client } = await virtualStore();
    for (const target of [undefined, null, nothing, {}, () => null]) {
      const error = await refusalOf(client.start(target as never));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toMatch(/^client\.start requires an orchestration or its name; got /);
    }
  });
});

describe("a definition", () => {
  test.each([
    [
      "an activity without a function",
      () => activity("a", undefined as never),
      'activity "a" must be given a function',
    ],
    [
      "an orchestration without a function",
      () => orchestration("o", {} as never),
      'orchestration "o" must be given a function',
    ],
    [
      "a timeout of 0",
      () => activity("a", () => 1, { timeout: 0 }),
      'timeout of activity "a" must be greater than 0',
    ],
    [
      "a misspelt duration",
      () => activity("a", () => 1, { timeout: "3 s" as never }),
      "must be a duration",
    ],
    [
      "zero attempts",
      () => activity("a", () => 1, { attempts: 0 }),
      "attempts must be a whole number",
    ],
    [
      "a number of attempts as a policy",
      () => activity("a", () => 1, { retry: 5 as never }),
      "write attempts: 5",
    ],
    [
      "attempts and a policy",
      () => activity("a", () => 1, { attempts: 5, retry: {} } as never),
      "attempts and retry exclude each other",
    ],
    [
      "a misspelt retry field",
      () => activity("a", () => 1, { retry: { max: 3 } as never }),
      '"max"',
    ],
    [
      "an unknown backoff",
      () => activity("a", () => 1, { retry: { backoff: { kind: "cubic" as never } } }),
      "retry.backoff.kind",
    ],
    ["a priority of 6", () => activity("a", () => 1, { priority: 6 }), "from 1 to 5"],
    [
      "an unknown onNondeterminism",
      () => orchestration("o", async () => 1, { onNondeterminism: "ignore" as never }),
      '"block" or "fail"',
    ],
  ])("with %s is refused at the definition", async (_, define, why) => {
    const error = await refusalOf(define);
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain(why);
  });
});

describe("runtime options", () => {
  const NUMBERS = [
    "turnConcurrency",
    "activityConcurrency",
    "stepConcurrency",
    "leaseBatch",
    "instanceLeaseMs",
    "taskLeaseMs",
    "renewBufferMs",
    "pollIntervalMs",
    "stickyCacheMax",
    "stickyCacheBytesMax",
    "stickyIdleMs",
    "attemptsMax",
    "cancelGraceMs",
    "cancelTimeoutMs",
    "beatMs",
    "staleMs",
    "stallMs",
    "maxSessionsPerRuntime",
    "sessionLeaseMs",
    "sessionIdleMs",
    "sessionCleanupMs",
  ] as const satisfies readonly (keyof RuntimeOptions)[];

  test.each(NUMBERS)(
    "%s out of range, not an integer or of another type is refused by name",
    async (name) => {
      const { provider } = await virtualStore();
      for (const value of [-1, 0.5, NaN, Infinity, "10", null, 10n]) {
        const error = await refusalOf(() => new Runtime(provider, { register: [], [name]: value }));
        expect(error.code).toBe("INVALID_ARGUMENT");
        expect(error.message).toMatch(
          new RegExp(`Runtime options: ${name} must be an integer of at least`),
        );
      }
    },
  );

  test("an unknown option is refused by name", async () => {
    const { provider } = await virtualStore();
    const options = { register: [], concurrency: 5 };
    const error = await refusalOf(() => new Runtime(provider, options));
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain('unknown option "concurrency"');
  });

  test.each([
    [{ beatMs: 1_000, staleMs: 1_500 }, "staleMs (1500) must be at least twice beatMs (1000)"],
    [
      { instanceLeaseMs: 1_000, renewBufferMs: 1_000 },
      "renewBufferMs (1000) must be less than instanceLeaseMs (1000)",
    ],
    [
      { taskLeaseMs: 500, renewBufferMs: 900 },
      "renewBufferMs (900) must be less than taskLeaseMs (500)",
    ],
    [{ renewBufferMs: 900 }, "renewBufferMs needs instanceLeaseMs or taskLeaseMs"],
    [{ beatMs: 1_000, stallMs: 500 }, "stallMs (500) must be at least twice beatMs (1000)"],
    [
      { sessionIdleMs: 500, sessionLeaseMs: 900 },
      "sessionIdleMs (500) must be at least sessionLeaseMs (900)",
    ],
  ])(
    "that contradict each other are refused, and the error names both: %o",
    async (options, why) => {
      const { provider } = await virtualStore();
      const error = await refusalOf(() => new Runtime(provider, { register: [], ...options }));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain(why);
    },
  );

  test.each([
    ["shadowReplay", "sometimes"],
    ["guards", "off"],
    ["guards", { clock: false }],
    ["guards", { date: 0 }],
    ["tags", "some"],
    ["tags", ["gpu"]],
    ["workerNodeId", ""],
    ["workerNodeId", 7],
    ["codec", {}],
    ["log", console],
  ])("%s as %o is refused", async (name, value) => {
    const { provider } = await virtualStore();
    const error = await refusalOf(() => new Runtime(provider, { register: [], [name]: value }));
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain(name.replace(/s$/, ""));
  });

  test("a slow heartbeat raises staleMs, so that no worker takes over from a live worker", async () => {
    const { provider } = await virtualWorld([nothing], { beatMs: 40_000, stallMs: 80_000 });
    const [record] = await provider.listRuntimes();
    const { staleMs } = JSON.parse(record?.registered ?? "{}") as { staleMs: number };
    expect(staleMs).toBeGreaterThanOrEqual(2 * 40_000);
  });

  test("an option set to undefined counts as absent", async () => {
    const { provider } = await virtualStore();
    expect(() => new Runtime(provider, { register: [], beatMs: undefined as never })).not.toThrow();
  });

  test("a log sink that throws does not affect the instances", async () => {
    const work = orchestration("work", async (ctx) => {
      ctx.log.info("begun");
      const value = await ctx.run(nothing);
      ctx.log.warn("done");
      return value;
    });
    const log = () => {
      throw new Error("no room for logs");
    };
    const { client } = await virtualWorld([work, nothing], { log });
    expect(await (await client.start(work)).result()).toBe(null);
  });
});

describe("a registration", () => {
  test("of a name twice is refused, with all duplicates in one message", async () => {
    const { provider } = await virtualStore();
    const other = activity("nothing", () => 1);
    const sameVersion = orchestration("idle", async () => 1);
    const newVersion = orchestration("idle", async () => 1, { version: "1.1.0" });
    const register = [nothing, nothing, other, idle, newVersion, sameVersion];
    const error = await refusalOf(() => new Runtime(provider, { register }));
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain('activity "nothing" is defined twice');
    expect(error.message).toContain('orchestration "idle" 1.0.0 is defined twice');
    expect(error.message).not.toContain("1.1.0");
  });

  test("of a value that is not a definition is refused together with the other errors", async () => {
    const { provider } = await virtualStore();
    // An import cycle is the usual cause of an undefined definition.
    const register = [
      undefined,
      null,
      "nothing",
      async () => 1,
      event("e"),
      nothing,
      activity("nothing", () => 1),
    ];
    const error = await refusalOf(() => new Runtime(provider, { register: register as never }));
    expect(error.code).toBe("INVALID_ARGUMENT");
    const refused = /must be an activity, an orchestration or a module that exports some; got /g;
    expect(error.message.match(refused)).toHaveLength(5);
    expect(error.message).toContain("register[0]");
    expect(error.message).toContain('activity "nothing" is defined twice');
  });

  test("must be a list", async () => {
    const { provider } = await virtualStore();
    for (const register of [undefined, nothing, { nothing }]) {
      const error = await refusalOf(() => new Runtime(provider, { register: register as never }));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain("register must be a list");
    }
  });
});

describe("Perdure.open", () => {
  test.each(["", "orders.db", "mysql://localhost/x", "file:orders.db", "SQLITE:x.db"])(
    "refuses the address %o and shows valid examples",
    async (address) => {
      const error = await refusalOf(Perdure.open(address));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain(`"${address}"`);
      expect(error.message).toContain("sqlite:./orders.db");
    },
  );

  test("refuses an address whose path is missing, empty or a directory", async () => {
    for (const address of ["sqlite:", "sqlite:/", "sqlite:/nowhere/at/all.db"]) {
      expect((await refusalOf(Perdure.open(address))).code).toBe("STORE_INVALID");
    }
  });

  test("refuses a value that is neither an address nor an open store", async () => {
    for (const store of [undefined, null, 7, {}, Promise.resolve()]) {
      const error = await refusalOf(Perdure.open(store as never));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain("open store");
    }
    expect((await refusalOf(() => new Client({} as never))).code).toBe("INVALID_ARGUMENT");
    expect((await refusalOf(() => new Runtime({} as never, { register: [] }))).code).toBe(
      "INVALID_ARGUMENT",
    );
  });

  test("with bad options closes the store it opened and leaves nothing behind", async () => {
    const logs = collectLogs();
    const error = await refusalOf(
      Perdure.open("sqlite::memory:", { runtime: { beatMs: -1, log: logs.sink } }),
    );
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(logs.lines).toEqual([]);
  });

  test("a runtime starts once; a second start is refused", async () => {
    const { runtime } = await virtualWorld([nothing]);
    const error = await refusalOf(runtime.start());
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain("create a new one");
  });
});

/** Counts the commits that reach the store from now on. */
function countWrites(provider: { commit: (items: never) => Promise<unknown> }): () => number {
  let count = 0;
  const { commit } = provider;
  provider.commit = (items) => {
    count++;
    return commit.call(provider, items);
  };
  return () => count;
}
