// Names that JavaScript's objects have of their own, sent to the API wherever a name can stand (S23). What comes of it
// is told, for a test or a process of its own to compare with `EXPECTED`.

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
  const told: string[] = [];
  const tell = (name: string, what: string, result: unknown): void =>
    void told.push(`${name}, ${what}: ${String(result)}`);
  for (const name of RESERVED) {
    const input = inputOf(name);
    const start = `{"name":"echo","id":"e-${name}","input":${input},"attributes":{"${name}":"x"}}`;
    tell(name, "start", (await call("admin", "POST", "/instances", { body: start })).status);
    await ended(`e-${name}`);
    tell(name, "result", await (await call("admin", "GET", `/instances/e-${name}/result`)).text());
    const attribute = await call("viewer", "GET", `/instances?attributes[${name}]=x`);
    tell(name, "found", ((await attribute.json()) as { items: unknown[] }).items.length);
    const refused: [string, string, string, string?][] = [
      ["body", "POST", "/instances", `{"name":"echo","${name}":{"polluted":1}}`],
      ["item", "POST", "/instances", `{"name":"echo","events":[{"name":"a","${name}":1}]}`],
      ["filter", "POST", "/bulk/delete", `{"filter":{"${name}":1},"dryRun":true}`],
      ["query", "GET", `/instances?${name}=1`],
    ];
    for (const [what, method, path, body] of refused) {
      const response = await call("admin", method, path, body === undefined ? {} : { body });
      tell(name, what, response.status);
    }
    const headers = { [name]: "1" };
    tell(name, "header", (await call("viewer", "GET", "/session", { headers })).status);
  }
  tell("Object.prototype", "own", Object.keys(Object.prototype).length);
  tell("Object.prototype", "polluted", ({} as { polluted?: unknown }).polluted);
  return told;
}

function inputOf(name: string): string {
  return `{"${name}":{"polluted":1},"a":{"${name}":[{"${name}":2}]}}`;
}

/** Data where users put data, and refused where the API has its own members. */
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
