// Names that JavaScript objects have by default, sent to the API wherever a name can stand (S23). `sendReservedNames`
// returns the results, which a test or a separate process compares with `EXPECTED`.

const RESERVED = ["__proto__", "constructor", "prototype"];

export type Call = (
  role: "viewer" | "admin",
  method: string,
  path: string,
  init?: { readonly body?: string; readonly headers?: Readonly<Record<string, string>> },
) => Promise<Response>;

/** `ended`: resolves when the instance of that id has ended. */
export async function sendReservedNames(
  call: Call,
  ended: (id: string) => Promise<unknown>,
): Promise<string[]> {
  const results: string[] = [];
  const record = (name: string, what: string, result: unknown): void =>
    void results.push(`${name}, ${what}: ${String(result)}`);
  for (const name of RESERVED) {
    const input = inputOf(name);
    const start = `{"name":"echo","id":"e-${name}","input":${input},"attributes":{"${name}":"x"}}`;
    record(name, "start", (await call("admin", "POST", "/instances", { body: start })).status);
    await ended(`e-${name}`);
    record(
      name,
      "result",
      await (await call("admin", "GET", `/instances/e-${name}/result`)).text(),
    );
    const attribute = await call("viewer", "GET", `/instances?attributes[${name}]=x`);
    record(name, "found", ((await attribute.json()) as { items: unknown[] }).items.length);
    const refused: [string, string, string, string?][] = [
      ["body", "POST", "/instances", `{"name":"echo","${name}":{"polluted":1}}`],
      ["item", "POST", "/instances", `{"name":"echo","events":[{"name":"a","${name}":1}]}`],
      ["filter", "POST", "/bulk/delete", `{"filter":{"${name}":1},"dryRun":true}`],
      ["query", "GET", `/instances?${name}=1`],
    ];
    for (const [what, method, path, body] of refused) {
      const response = await call("admin", method, path, body === undefined ? {} : { body });
      record(name, what, response.status);
    }
    const headers = { [name]: "1" };
    record(name, "header", (await call("viewer", "GET", "/session", { headers })).status);
  }
  record("Object.prototype", "own", Object.keys(Object.prototype).length);
  record("Object.prototype", "polluted", ({} as { polluted?: unknown }).polluted);
  return results;
}

function inputOf(name: string): string {
  return `{"${name}":{"polluted":1},"a":{"${name}":[{"${name}":2}]}}`;
}

/** Accepted as data in users' values, refused among the API's own members. */
export const EXPECTED: readonly string[] = [
  ...RESERVED.flatMap((name) => [
    `${name}, start: 201`,
    `${name}, result: {"ended":true,"output":${inputOf(name)}}`,
    `${name}, found: 1`,
    `${name}, body: 400`,
    `${name}, item: 400`,
    `${name}, filter: 400`,
    `${name}, query: 400`,
    `${name}, header: 200`,
  ]),
  "Object.prototype, own: 0",
  "Object.prototype, polluted: undefined",
];
