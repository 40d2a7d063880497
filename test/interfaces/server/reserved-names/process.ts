// A process that sends reserved names to its own server, and prints the results. It runs with Node's
// `--disable-proto=throw`, where any use of `__proto__` as a property of objects throws.

import { orchestration, Perdure } from "../../../../src/index.ts";
import { perdureServer } from "../../../../src/server/index.ts";
import { sendReservedNames, type Call } from "./send.ts";

const echo = orchestration("echo", async (_ctx, value: unknown) => value);
await using perdure = await Perdure.open("sqlite::memory:", {
  register: [echo],
  runtime: { log: () => undefined },
});
await using server = perdureServer(perdure.client, {
  authenticate: () => ({ name: "ada", role: "admin" }),
  log: () => undefined,
});
// Headers as pairs: Node's `Request` fails on an object with such a name.
const call: Call = async (_role, method, path, { body, headers = {} } = {}) => {
  const pairs = Object.entries(headers);
  return body === undefined
    ? server.request(`/api/v1${path}`, { method, headers: pairs })
    : server.request(`/api/v1${path}`, {
        method,
        headers: [...pairs, ["Content-Type", "application/json"]],
        body,
      });
};
console.log(JSON.stringify(await sendReservedNames(call, (id) => perdure.client.get(id).result())));
