import { expect, test } from "vitest";
import { parseAddress } from "../../../../src/postgres/connection/address.ts";

const hostsOf = (url: string) =>
  parseAddress(url).dialing.hosts.map(({ host, port }) => `${host} ${port}`);

test("an address with one host is passed to the driver unchanged", () => {
  const url = "postgresql://ada:s%2Fx@host:5433/db?sslmode=require&application_name=a%26b";
  expect(parseAddress(url)).toEqual({
    connectionString: url.replace("postgresql", "postgres"),
    dialing: { hosts: [], session: "any" },
    options: {},
  });
  expect(parseAddress("postgres:///db?host=/tmp").connectionString).toBe(
    "postgres:///db?host=/tmp",
  );
});

test("several hosts are read from the authority or from parameters, with ports and brackets", () => {
  expect(hostsOf("postgres://u:p@a:1,b:2,c/db")).toEqual(["a 1", "b 2", "c 5432"]);
  expect(hostsOf("postgres://[::1]:1,[::2]/db")).toEqual(["::1 1", "::2 5432"]);
  expect(hostsOf("postgres:///db?host=a,b&port=1,2")).toEqual(["a 1", "b 2"]);
  expect(hostsOf("postgres:///db?host=/tmp,/run&port=1")).toEqual(["/tmp 1", "/run 1"]);
  expect(parseAddress("postgres://u:p@a:1,b:2/db?x=1").connectionString).toBe(
    "postgres://u:p@a:1/db?x=1",
  );
});

test("Perdure's options are removed from the address", () => {
  const url =
    "postgres://host/db?perdure.schema=orders&perdure.notifications=off&perdure.prepare=true" +
    "&perdure.poolSize=3&perdure.transactionPoolSize=2&perdure.answerMs=500&perdure.durability=local" +
    "&perdure.migrate=verify&perdure.listen=postgres%3A%2F%2Fada%3Apw%40host&perdure.readOnly=1&sslmode=disable&target_session_attrs=standby";
  expect(parseAddress(url)).toEqual({
    connectionString: "postgres://host/db?sslmode=disable",
    dialing: { hosts: [], session: "standby" },
    options: {
      schema: "orders",
      notifications: false,
      prepare: true,
      poolSize: 3,
      transactionPoolSize: 2,
      answerMs: 500,
      durability: "local",
      migrate: "verify",
      listen: "postgres://ada:pw@host",
      readOnly: true,
    },
  });
});

test.each([
  ["postgres://host/db?perdure.scheme=x", 'unknown option "perdure.scheme"'],
  ["postgres://host/db?perdure.environment=x", "unknown option"],
  ["postgres://host/db?perdure.poolSize=many", "whole number"],
  ["postgres://host/db?perdure.notifications=maybe", "on or off"],
  ["postgres://host/db?perdure.schema=a&perdure.schema=b", "twice"],
  ["postgres://host/db?target_session_attrs=master", "must be one of any, read-write"],
  ["postgres://a:1,b:99999/db", "port"],
  ["postgres://a,,b/db", "host"],
  ["postgres:///db?host=a,b,c&port=1,2", "3 hosts and 2 ports"],
  ["postgres://ada:hunter2/x@host/db", "%2F"],
  ["postgres://ada:1#hunter2@host/db", "%23"],
  ["postgres://ada:1?hunter2@host/db", "%3F"],
  ["postgres://ada:hunter2@host:port/db", "valid URL"],
  ["mysql://ada:hunter2@host", "postgres://"],
])("%s is refused: %s", (url, why) => {
  let refused: unknown;
  try {
    parseAddress(url);
  } catch (error) {
    refused = error;
  }
  expect(refused).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(String(refused)).toContain(why);
  expect(String(refused)).not.toContain("hunter2");
});
