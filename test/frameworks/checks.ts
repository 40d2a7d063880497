// What happens with the application of each framework: built, served, seen in a browser, stopped, killed and recovered.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import type { Browser } from "playwright-core";
import { createToken, HttpClient } from "../../src/server/index.ts";
import { openPage } from "../interfaces/ui/support/browser.ts";
import { AppProcess, environment, folderOf } from "./app-process.ts";
import { compileBlocks } from "./docs-blocks.ts";
import { TSC, type Command, type Framework } from "./frameworks.ts";
import { PREFIX } from "./settings.ts";

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const OUTPUT = ["reserved", "charged 4200", "shipped"];

/** The columns of the table, in order. */
export const CHECKS = [
  "built",
  "served",
  "seen in a browser",
  "stopped",
  "killed and recovered",
  "reloaded",
] as const;
export type Check = (typeof CHECKS)[number];
/** How a check ended: null if it passed. */
export type Report = (check: Check, error: unknown) => void;

/** The checks of this framework. */
export function checksOf({ dev }: Framework): readonly Check[] {
  return CHECKS.filter((check) => check !== "reloaded" || dev !== undefined);
}

/** Runs the checks in order; the first that fails ends the run. */
export async function checkFramework(
  framework: Framework,
  browser: Browser,
  report: Report,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-frameworks-"));
  const world = new World(framework, folder);
  const steps: Readonly<Record<Check, () => Promise<void>>> = {
    built: () => build(framework),
    served: () => world.serve(),
    "seen in a browser": () => world.see(browser),
    stopped: () => world.stop(),
    "killed and recovered": () => world.killAndRecover(),
    reloaded: () => world.reload(),
  };
  let check: Check = "built";
  try {
    for (check of checksOf(framework)) {
      await steps[check]();
      report(check, null);
    }
  } catch (error) {
    report(check, error);
  } finally {
    await world[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function build(framework: Framework): Promise<void> {
  const commands = framework.build ?? [[...TSC, "-p", "../.."] as const];
  for (const [program, ...args] of commands) {
    await runHere(framework, program, args);
  }
  if (framework.documented !== undefined) await compileBlocks(framework.documented);
}

async function runHere(framework: Framework, program: string, args: readonly string[]) {
  const options = { cwd: folderOf(framework), env: environment(), maxBuffer: OUTPUT_BYTES_MAX };
  try {
    await promisify(execFile)(program, args, options);
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

class World implements AsyncDisposable {
  readonly #framework: Framework;
  readonly #env: Record<string, string>;
  readonly #token: string;
  #app: AppProcess | null = null;

  constructor(framework: Framework, folder: string) {
    this.#framework = framework;
    const { token, entry } = createToken({ name: "mia", role: "operator" });
    this.#token = token;
    this.#env = {
      STORE: `sqlite:${join(folder, "orders.db")}`,
      RECORD: join(folder, "record.txt"),
      TOKENS: JSON.stringify([entry]),
    };
  }

  /** A request starts an order in its context, and the API returns its result. */
  async serve(): Promise<void> {
    const app = await this.#start();
    await order(app, "first");
    await this.#checkResult(app, "first");
    expectSame(this.#recordOf("first"), [
      "reserve first acme",
      "charge first acme",
      "ship first acme",
    ]);
    const refused = await fetch(`${app.origin}${PREFIX}/api/v1/instances`);
    expectSame(refused.status, 401);
  }

  /** The dashboard below the prefix: login, a list, and an instance. */
  async see(browser: Browser): Promise<void> {
    const { origin } = this.#running();
    await using watched = await openPage(browser, `${origin}${PREFIX}`);
    const { page, troubles } = watched;
    await page.getByLabel("Token").fill(this.#token);
    await page.keyboard.press("Enter");
    await page.getByText("mia · operator").waitFor();
    await page.getByRole("link", { name: "Instances" }).click();
    await page.getByRole("link", { name: "first" }).first().click();
    await page.getByRole("toolbar", { name: "Actions" }).waitFor();
    expectSame(
      troubles.filter((trouble) => !trouble.includes("401 (Unauthorized)")),
      [],
    );
  }

  /** SIGTERM ends the process, and its runtime leaves nothing behind: the next process continues at once. */
  async stop(): Promise<void> {
    await this.#running().stop();
    const app = await this.#start();
    const { runtimes } = await this.#client(app).overview();
    expectSame(runtimes.length, 1);
    await app.stop();
  }

  /** Killed in an activity; the next process runs the order to its end, and no outcome is recorded twice. */
  async killAndRecover(): Promise<void> {
    const first = await this.#start({ HOLD: "1" });
    await order(first, "second");
    await first.waitFor(() => this.#recordOf("second").length === 2, "in the activity charge");
    await first.kill();
    const next = await this.#start();
    await this.#checkResult(next, "second");
    const line = (what: string): string => `${what} second acme`;
    const expected = ["reserve", "charge", "charge", "ship"].map(line);
    expectSame(this.#recordOf("second"), expected);
    const { events } = await this.#client(next).get("second").history();
    const outcomes = events.filter(({ kind }) => kind === "ActivityCompleted");
    expectSame(outcomes.length, 3);
    await next.stop();
  }

  /**
   * In development a changed module is loaded into the same process. Its definitions are registered, work in flight ends,
   * and the process still has one runtime.
   */
  async reload(): Promise<void> {
    const { dev } = this.#framework;
    const file = join(folderOf(this.#framework), "perdure.ts");
    const before = readFileSync(file, "utf8");
    const app = await this.#start({ NODE_ENV: "development" }, dev);
    try {
      const [old] = (await this.#client(app).overview()).runtimes;
      await order(app, "third");
      writeFileSync(file, withGreeting(before));
      await order(app, "fourth"); // a request loads the changed module
      await this.#checkResult(app, "third");
      await this.#checkResult(app, "fourth");
      await this.#client(app).start("greet", "ada", { id: "fifth" });
      expectSame(await this.#client(app).get("fifth").result({ timeout: "60s" }), "Hello ada");
      const { runtimes } = await this.#client(app).overview();
      expectSame(runtimes.length, 1);
      if (runtimes[0]?.id === old?.id) throw new Error("the runtime was not replaced");
    } finally {
      writeFileSync(file, before);
      await app.stop(); // `next dev` ends the server, which is a separate process
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#app?.[Symbol.asyncDispose]();
  }

  async #start(env: Record<string, string> = {}, command?: Command): Promise<AppProcess> {
    this.#app = await AppProcess.start(this.#framework, { ...this.#env, ...env }, command);
    return this.#app;
  }

  #running(): AppProcess {
    if (this.#app === null) throw new Error("the application was not started");
    return this.#app;
  }

  #client({ origin }: AppProcess): HttpClient {
    return new HttpClient({ url: `${origin}${PREFIX}`, token: this.#token });
  }

  async #checkResult(app: AppProcess, id: string): Promise<void> {
    const result = await this.#client(app).get(id).result({ timeout: "60s" });
    const [reserved, charged, shipped] = OUTPUT;
    expectSame(result, [`${reserved} ${id}`, charged, `${shipped} ${id}`]);
  }

  #recordOf(id: string): string[] {
    const file = this.#env["RECORD"] ?? "";
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    return lines.filter((line) => line.includes(` ${id} `));
  }
}

/** The module `perdure.ts` with one more orchestration. */
function withGreeting(module: string): string {
  const registered = "...options,";
  if (!module.includes(registered)) throw new Error("perdure.ts must pass the shared options");
  const greet = 'orchestration("greet", async (ctx, name: string) => `Hello ${name}`)';
  const changed = `...options, register: [...options.register, ${greet}],`;
  return `import { orchestration } from "perdure";\n${module.replace(registered, changed)}`;
}

async function order({ origin }: AppProcess, id: string): Promise<void> {
  const answer = await fetch(`${origin}/orders/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-tenant": "acme" },
    body: JSON.stringify({ cents: 4200 }),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`POST /orders/${id}: ${answer.status} ${text}`);
  expectSame(JSON.parse(text), { id });
}

function expectSame(actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`expected ${JSON.stringify(expected)}; got ${JSON.stringify(actual)}`);
}
