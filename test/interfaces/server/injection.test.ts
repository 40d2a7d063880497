// Texts that try to be code or commands (S20, S22 to S25).

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ROUTES } from "../../../src/server/routes/index.ts";
import { givenValue } from "../../../src/server/views/values.ts";
import { readSources } from "../../support/source-files.ts";
import { findImports } from "../../support/source-scan.ts";
import { SQL_TEXTS } from "./inputs/corpora.ts";
import { EXPECTED, sendReservedNames } from "./reserved-names/send.ts";
import { openScene } from "./support.ts";

const OFTEN = { perSecond: 1_000_000, burst: 1_000_000 };

test("S20: a filter is a literal, whatever it means in SQL", async () => {
  const { as, perdure, call } = await openScene({ limits: OFTEN });
  const client = as("admin");
  await perdure.client.start("unregistered", undefined, { id: "victim", attributes: { a: "b" } });
  expect(SQL_TEXTS.length).toBeGreaterThanOrEqual(200);
  for (const text of SQL_TEXTS) {
    const filters = [
      { name: text },
      { idPrefix: text },
      { ids: [text] },
      { attributes: { a: text } },
      { attributes: { [text]: "b" } },
      { parent: text, version: text },
    ];
    const found = await Promise.all(filters.map((filter) => client.count(filter)));
    expect([text, found]).toEqual([text, filters.map(() => 0)]);
    const encoded = encodeURIComponent(text);
    const queries = ["order=", "cursor=", "limit=", "status=", ""].map((name) => name + encoded);
    const answers = await Promise.all(
      queries.map(async (query) => (await call("admin", "GET", `/instances?${query}`)).status),
    );
    expect([text, answers]).toEqual([text, queries.map(() => 400)]);
  }
  expect((await client.list()).items.map(({ id }) => id)).toEqual(["victim"]);
});

test("S20: ids and names made of such texts are stored and found unchanged", async () => {
  const { as } = await openScene({ limits: OFTEN });
  const client = as("admin");
  for (const text of SQL_TEXTS.slice(0, 60)) {
    await client.start("echo", text, { id: text, attributes: { text } });
    expect((await client.list({ attributes: { text } })).items.map(({ id }) => id)).toEqual([text]);
  }
  expect(await client.count()).toBe(60);
});

test("S20: a cursor that no list returned is refused", async () => {
  const { call } = await openScene();
  const cursors = ["x", "MTox", btoa("1:1; DROP"), btoa("-1:NaN"), "=".repeat(10), "a".repeat(501)];
  for (const cursor of cursors.filter((one) => one !== "MTox")) {
    const response = await call("viewer", "GET", `/instances?cursor=${encodeURIComponent(cursor)}`);
    expect([cursor, response.status]).toEqual([cursor, 400]);
  }
});

test("S22: no route takes the address of a database, a path or a URL", () => {
  const words =
    /\b(url|uri|path|file|database|db|dsn|connection|provider|store|host|endpoint|webhook)\b/i;
  const names = ROUTES.flatMap((route) => [
    ...Object.keys(route.query?.entries ?? {}),
    ...(route.body === null ? [] : Object.keys((route.body as { entries?: object }).entries ?? {})),
    ...(route.path.match(/(?<=:)\w+/g) ?? []),
  ]);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => words.test(name))).toEqual([]);
});

test("S23: reserved names are data in users' values, and refused among the API's own members", async () => {
  const { as, call, perdure } = await openScene({ limits: OFTEN });
  const results = await sendReservedNames(call, (id) => perdure.client.get(id).result());
  expect(results).toEqual(EXPECTED);
  expect((await as("viewer").list({ attributes: { ["__proto__"]: "x" } })).items).toHaveLength(1);
});

test("S23: the results are the same in a process where `__proto__` throws", () => {
  const program = join(import.meta.dirname, "reserved-names", "process.ts");
  const output = execFileSync(process.execPath, ["--disable-proto=throw", program], {
    encoding: "utf8",
  });
  expect(JSON.parse(output)).toEqual(EXPECTED);
});

test(
  "S24: a tampered value is an error or a value, and executes nothing",
  { timeout: 600_000 },
  () => {
    const seed = Number(process.env["SEED"] ?? Date.now() % 2 ** 31);
    console.log(`seed ${seed}`);
    const tag = fc.constantFrom(
      "~",
      "~u",
      "~n",
      "~i",
      "~h",
      "~d",
      "~m",
      "~s",
      "~b",
      "~l",
      "~r",
      "~e",
      "~0",
      "~x",
    );
    const tree = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        fc.jsonValue(),
        fc.tuple(tag, tie("node"), tie("node")),
        fc.tuple(
          tag,
          fc.constantFrom("Error", "Function", "process", "Buffer", "Uint8Array", "Map"),
        ),
        fc.dictionary(
          fc.constantFrom("__proto__", "constructor", "toJSON", "then", "a"),
          tie("node"),
        ),
      ),
    })).node;
    fc.assert(
      fc.property(tree, (json) => {
        try {
          const value = givenValue({ $perdure: json });
          expect(typeof value).not.toBe("function");
        } catch (error) {
          expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
        }
      }),
      { seed, numRuns: process.env["PERDURE_FULL"] === "1" ? 100_000 : 500 },
    );
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);

test("S25: the server makes no requests: outside of the HTTP client it has no code for it", () => {
  const server = readSources("src/server/**/*.ts").filter(
    ({ path }) => !/\/(http-\w+|event-reader)\.ts$/.test(path),
  );
  expect(server.length).toBeGreaterThan(40);
  const calls = server.filter(({ text }) => /(?<![.\w])fetch\(|WebSocket|EventSource/.test(text));
  expect(calls.map(({ path }) => path)).toEqual([]);
  const taken = server.flatMap((source) =>
    findImports(source).filter(({ specifier }) =>
      /^node:(https?|http2|net|tls|dns|dgram)/.test(specifier),
    ),
  );
  const names = taken.flatMap((found) => [found.specifier, ...found.names]);
  expect(new Set(names)).toEqual(
    new Set(["node:http", "createServer", "IncomingMessage", "Server", "ServerResponse"]),
  );
});
